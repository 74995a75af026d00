/** Blob stores for tests: kept in memory, recording, failing on purpose. */
@NullMarked
package io.alluvium.testkit.blob;

import org.jspecify.annotations.NullMarked;
