/** Tests of the heap table beyond what every table must do. */
@NullMarked
package io.alluvium.internal.heap;

import org.jspecify.annotations.NullMarked;
