/** Measures the backend in Flink, beside Flink's own backends. */
@NullMarked
package io.alluvium.flink.bench;

import org.jspecify.annotations.NullMarked;
