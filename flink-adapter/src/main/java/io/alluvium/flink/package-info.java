/**
 * Alluvium as a state backend of Apache Flink. Only {@link
 * io.alluvium.flink.AlluviumStateBackendFactory}, {@link io.alluvium.flink.AlluviumStateBackend}
 * and {@link io.alluvium.flink.AlluviumOptions} are for users.
 */
@NullMarked
package io.alluvium.flink;

import org.jspecify.annotations.NullMarked;
