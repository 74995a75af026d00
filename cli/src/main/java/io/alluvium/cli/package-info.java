/**
 * The {@code alluvium} command: runs the evaluation jobs on one machine and inspects checkpoint
 * directories, through the public API only.
 */
@NullMarked
package io.alluvium.cli;

import org.jspecify.annotations.NullMarked;
