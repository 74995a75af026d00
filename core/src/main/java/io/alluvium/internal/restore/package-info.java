/** Restore and rescale: fetching what a checkpoint names, and replaying its changelog in bulk. */
@NullMarked
package io.alluvium.internal.restore;

import org.jspecify.annotations.NullMarked;
