/** Tests of threads. */
@NullMarked
package io.alluvium.internal.execution;

import org.jspecify.annotations.NullMarked;
