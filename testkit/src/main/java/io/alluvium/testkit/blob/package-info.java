/** Blob stores for tests: in memory, with recorded calls and injected faults. */
@NullMarked
package io.alluvium.testkit.blob;

import org.jspecify.annotations.NullMarked;
