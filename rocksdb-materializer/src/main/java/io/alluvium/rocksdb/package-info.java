/**
 * The RocksDB table and its materializer, which uploads the table without pausing the task; every
 * native handle stays in here.
 */
@NullMarked
package io.alluvium.rocksdb;

import org.jspecify.annotations.NullMarked;
