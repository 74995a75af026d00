package io.alluvium.flink;

import io.alluvium.bytes.ByteBackend;
import io.alluvium.spi.TableScan;

/** Counts what a state holds. Stateless. */
final class Entries {

  private Entries() {}

  static int count(ByteBackend bytes, byte[] id) {
    int count = 0;
    for (int group = bytes.keyGroups().from(); group < bytes.keyGroups().to(); group++) {
      byte[] prefix = RowWalk.prefix(group, id);
      try (TableScan scan = bytes.scan(prefix, prefix.length)) {
        while (scan.next()) {
          count++;
        }
      }
    }
    return count;
  }
}
