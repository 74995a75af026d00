/**
 * The table on the heap: one hash table of rows per key group and state, its snapshots and their
 * files.
 */
@NullMarked
package io.alluvium.internal.heap;

import org.jspecify.annotations.NullMarked;
