package io.alluvium.internal.heap;

import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableScan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;

/** Applies the same changes to a table and to a sorted map. Confined to one thread. */
final class Model {

  final Table table;
  final TreeMap<byte[], byte[]> entries = new TreeMap<>(Arrays::compareUnsigned);

  Model(Table table) {
    this.table = table;
  }

  static byte[] key(int keyGroup, int stateId, String key, byte[] userKey) {
    ByteWriter out = new ByteWriter();
    KeyLayout.writeState(out, keyGroup, stateId);
    out.writeString(key);
    out.writeVarInt(0);
    out.writeBytes(userKey);
    return out.toByteArray();
  }

  void put(byte[] key, byte[] value) {
    table.put(key, key.length, value, value.length);
    entries.put(key, value);
  }

  void merge(byte[] key, byte[] operand) {
    table.merge(key, key.length, operand, operand.length);
    entries.merge(
        key,
        operand,
        (old, added) -> {
          byte[] joined = Arrays.copyOf(old, old.length + added.length);
          System.arraycopy(added, 0, joined, old.length, added.length);
          return joined;
        });
  }

  void delete(byte[] key) {
    table.delete(key, key.length);
    entries.remove(key);
  }

  void deleteRange(byte[] prefix) {
    table.deleteRange(prefix, prefix.length);
    entries.keySet().removeIf(key -> startsWith(key, prefix));
  }

  private static boolean startsWith(byte[] key, byte[] prefix) {
    return key.length >= prefix.length
        && Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length);
  }

  /** The expected entries of a scan, one line each. */
  List<String> lines(byte[] prefix) {
    List<String> lines = new ArrayList<>();
    entries
        .tailMap(prefix)
        .forEach(
            (key, value) -> {
              if (startsWith(key, prefix)) {
                lines.add(line(key, key.length, value, value.length));
              }
            });
    return lines;
  }

  static List<String> lines(TableScan scan) {
    List<String> lines = new ArrayList<>();
    try (scan) {
      while (scan.next()) {
        lines.add(line(scan.key(), scan.keyLength(), scan.value(), scan.valueLength()));
      }
    }
    return lines;
  }

  private static String line(byte[] key, int keyLength, byte[] value, int valueLength) {
    HexFormat hex = HexFormat.of();
    return hex.formatHex(key, 0, keyLength)
        + "="
        + valueLength
        + ":"
        + Arrays.hashCode(Arrays.copyOf(value, valueLength));
  }
}
