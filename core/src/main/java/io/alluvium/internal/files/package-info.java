/** Small helpers for local files. */
@NullMarked
package io.alluvium.internal.files;

import org.jspecify.annotations.NullMarked;
