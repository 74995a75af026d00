/** The embedded, single-process stream runner: sources, subtasks, checkpoints, the file sink. */
@NullMarked
package io.alluvium.cli.runner;

import org.jspecify.annotations.NullMarked;
