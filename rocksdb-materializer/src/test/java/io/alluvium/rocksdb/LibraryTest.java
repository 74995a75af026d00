package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.rocksdb.RocksDB;

/** The build runs these tests on two versions of RocksDB; this one tells that it really does. */
final class LibraryTest {

  @Test
  void library_isTheOneThatTheBuildNamed() {
    NativeLibrary.load();
    assertThat(RocksDB.rocksdbVersion())
        .hasToString(System.getProperty("alluvium.test.rocksdb", "11.8.1"));
  }
}
