/** How implementations of the SPIs are found. */
@NullMarked
package io.alluvium.internal.providers;

import org.jspecify.annotations.NullMarked;
