/**
 * Serialization of values: the {@code Serializer} interface, the built-in serializers and the byte
 * buffers.
 */
@NullMarked
package io.alluvium.serializer;

import org.jspecify.annotations.NullMarked;
