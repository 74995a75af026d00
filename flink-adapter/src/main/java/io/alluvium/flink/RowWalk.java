package io.alluvium.flink;

import io.alluvium.bytes.ByteBackend;
import io.alluvium.serializer.ByteReader;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.TableScan;
import java.util.ArrayDeque;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Walks the rows of one state, each once, over all key groups, in chunks; between two chunks no
 * scan is open, so that whoever walks may write meanwhile, and what is dropped half-way pins
 * nothing. Confined to the task thread.
 */
final class RowWalk {

  private static final int CHUNK_ROWS = 256;
  private static final int CHUNK_BYTES = 1 << 20;

  /**
   * A row without what follows it. Immutable.
   *
   * @param row all of it, a key of the table or the prefix of several
   */
  record Row(byte[] row, int keyOffset, int keyLength, int namespaceOffset, int namespaceLength) {

    boolean isIn(byte[] namespace) {
      return Arrays.equals(
          row, namespaceOffset, namespaceOffset + namespaceLength, namespace, 0, namespace.length);
    }
  }

  private final ByteBackend bytes;
  private final byte[] id;
  private final ByteReader reader = new ByteReader();
  private final ArrayDeque<Row> chunk = new ArrayDeque<>();
  private int keyGroup;
  private byte @Nullable [] last;

  RowWalk(ByteBackend bytes, byte[] id) {
    this.bytes = bytes;
    this.id = id;
    this.keyGroup = bytes.keyGroups().from();
  }

  /** The next row; null at the end. */
  @Nullable Row next() {
    while (chunk.isEmpty() && keyGroup < bytes.keyGroups().to()) {
      fill();
    }
    return chunk.poll();
  }

  private void fill() {
    byte[] prefix = prefix(keyGroup, id);
    byte[] row = last;
    int size = 0;
    try (TableScan scan =
        row == null
            ? bytes.scan(prefix, prefix.length)
            : bytes.scanFrom(prefix, prefix.length, row, row.length)) {
      while (scan.next()) {
        if (row != null && startsWith(scan, row)) {
          continue;
        }
        if (chunk.size() >= CHUNK_ROWS || size > CHUNK_BYTES) {
          last = row;
          return;
        }
        row = Arrays.copyOf(scan.key(), KeyLayout.rowLength(scan.key(), 0, scan.keyLength()));
        size += row.length;
        chunk.add(parse(row, prefix.length));
      }
    }
    last = null;
    keyGroup++;
  }

  static byte[] prefix(int keyGroup, byte[] id) {
    byte[] prefix = new byte[KeyLayout.KEY_GROUP_BYTES + id.length];
    prefix[0] = (byte) (keyGroup >>> 8);
    prefix[1] = (byte) keyGroup;
    System.arraycopy(id, 0, prefix, KeyLayout.KEY_GROUP_BYTES, id.length);
    return prefix;
  }

  private static boolean startsWith(TableScan scan, byte[] row) {
    return scan.keyLength() >= row.length
        && Arrays.equals(scan.key(), 0, row.length, row, 0, row.length);
  }

  private Row parse(byte[] row, int offset) {
    reader.reset(row, offset, row.length - offset);
    int keyLength = reader.readVarInt();
    int keyOffset = reader.position();
    reader.skip(keyLength);
    int namespaceLength = reader.readVarInt();
    return new Row(row, keyOffset, keyLength, reader.position(), namespaceLength);
  }
}
