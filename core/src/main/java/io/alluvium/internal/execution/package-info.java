/** Real threads and real time behind {@link io.alluvium.spi.Execution}. */
@NullMarked
package io.alluvium.internal.execution;

import org.jspecify.annotations.NullMarked;
