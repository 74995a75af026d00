/**
 * What stands between Alluvium and a blob store behind a network: second requests beside slow ones,
 * a limit that follows the store's complaints, pacing, and counting.
 */
@NullMarked
package io.alluvium.internal.remote;

import org.jspecify.annotations.NullMarked;
