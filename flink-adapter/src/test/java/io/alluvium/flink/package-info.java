@NullMarked
package io.alluvium.flink;

import org.jspecify.annotations.NullMarked;
