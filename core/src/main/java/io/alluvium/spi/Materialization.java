package io.alluvium.spi;

import java.util.List;

/**
 * A table's content as durable files, and where the changelog must be replayed from onto it.
 * Immutable.
 *
 * @param format of the files, see {@link TableProvider#format()}
 * @param position every change below this sequence number is in the files (P2)
 * @param containedUpTo no change at or above this sequence number is in the files; a checkpoint may
 *     name this materialization only if it ends at or above it
 */
public record Materialization(
    String format, long position, long containedUpTo, List<TableFile> files) {

  public Materialization {
    files = List.copyOf(files);
  }

  public long sizeBytes() {
    long sum = 0;
    for (TableFile file : files) {
      sum += file.sizeBytes();
    }
    return sum;
  }
}
