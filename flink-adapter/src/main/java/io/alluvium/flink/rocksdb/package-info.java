/**
 * The one place in the adapter that knows RocksDB, as Flink brings it: shared memory, Flink's
 * options factories, Flink's native metrics. It translates them for the RocksDB module.
 */
@NullMarked
package io.alluvium.flink.rocksdb;

import org.jspecify.annotations.NullMarked;
