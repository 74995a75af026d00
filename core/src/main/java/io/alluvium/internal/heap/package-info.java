/**
 * The table on the heap: open-addressing rows per key group and state, its snapshots and their
 * files.
 */
@NullMarked
package io.alluvium.internal.heap;

import org.jspecify.annotations.NullMarked;
