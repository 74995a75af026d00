/** Checks of what callers pass to the public API. */
@NullMarked
package io.alluvium.internal.arguments;

import org.jspecify.annotations.NullMarked;
