/** The facade of one subtask and of one process, and the one write path. */
@NullMarked
package io.alluvium.internal.backend;

import org.jspecify.annotations.NullMarked;
