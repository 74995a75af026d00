/** The blob stores of the core: a local directory, and memory. */
@NullMarked
package io.alluvium.internal.blob;

import org.jspecify.annotations.NullMarked;
