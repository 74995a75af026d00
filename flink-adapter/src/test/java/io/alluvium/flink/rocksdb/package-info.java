@NullMarked
package io.alluvium.flink.rocksdb;

import org.jspecify.annotations.NullMarked;
