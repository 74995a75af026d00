/** The typed states: they encode and decode, and leave storing to the one write path. */
@NullMarked
package io.alluvium.internal.state;

import org.jspecify.annotations.NullMarked;
