/** A real cluster of separate processes, and what is done to it. */
@NullMarked
package io.alluvium.flink.cluster;

import org.jspecify.annotations.NullMarked;
