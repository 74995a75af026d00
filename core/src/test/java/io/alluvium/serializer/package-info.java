/** Tests of the serializers. */
@NullMarked
package io.alluvium.serializer;

import org.jspecify.annotations.NullMarked;
