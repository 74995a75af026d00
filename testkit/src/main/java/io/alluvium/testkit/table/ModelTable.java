package io.alluvium.testkit.table;

import io.alluvium.KeyGroupRange;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableScan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The reference model of a table: a sorted map. Confined to one thread. */
public final class ModelTable {

  private static final HexFormat HEX = HexFormat.of();

  private final TreeMap<byte[], byte[]> entries = new TreeMap<>(Arrays::compareUnsigned);

  /** An empty table. */
  public ModelTable() {}

  /** A copy of another model. */
  public ModelTable(ModelTable other) {
    entries.putAll(other.entries);
  }

  /** Reads a whole table, key group by key group, and checks that keys ascend. */
  public static ModelTable of(Table table, KeyGroupRange keyGroups) {
    ModelTable model = new ModelTable();
    for (int keyGroup = keyGroups.from(); keyGroup < keyGroups.to(); keyGroup++) {
      ByteWriter prefix = new ByteWriter();
      prefix.writeShort(keyGroup);
      model.addAll(table.scan(prefix.array(), prefix.length()));
    }
    return model;
  }

  /** Adds all entries of a scan, and closes it. */
  public void addAll(TableScan scan) {
    try (scan) {
      byte[] before = new byte[0];
      while (scan.next()) {
        byte[] key = Arrays.copyOf(scan.key(), scan.keyLength());
        if (Arrays.compareUnsigned(before, key) >= 0) {
          throw new AssertionError(
              "key " + HEX.formatHex(key) + " comes after " + HEX.formatHex(before));
        }
        entries.put(key, Arrays.copyOf(scan.value(), scan.valueLength()));
        before = key;
      }
    }
  }

  public void apply(Change change) {
    switch (change.operation()) {
      case PUT -> entries.put(change.key(), change.value());
      case DELETE -> entries.remove(change.key());
      case DELETE_RANGE -> withPrefix(change.key()).clear();
      case MERGE -> entries.merge(change.key(), change.value(), ModelTable::join);
    }
  }

  /** A live view of the entries whose key starts with a prefix. */
  public Map<byte[], byte[]> withPrefix(byte[] prefix) {
    byte[] end = prefix.clone();
    for (int i = end.length - 1; i >= 0; i--) {
      if (++end[i] != 0) {
        return entries.subMap(prefix, Arrays.copyOf(end, i + 1));
      }
    }
    return entries.tailMap(prefix);
  }

  private static byte[] join(byte[] first, byte[] second) {
    byte[] all = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, all, first.length, second.length);
    return all;
  }

  /** Removes the entries outside of a range. */
  public void clip(KeyGroupRange keyGroups) {
    entries.keySet().removeIf(key -> !keyGroups.contains(KeyLayout.keyGroup(key, 0)));
  }

  public Map<byte[], byte[]> entries() {
    return entries;
  }

  public TableScan scan() {
    return new MapScan(new ArrayList<>(entries.entrySet()).iterator());
  }

  /** Every entry as text, exactly as stored. */
  public List<String> lines() {
    List<String> lines = new ArrayList<>();
    entries.forEach((key, value) -> lines.add(HEX.formatHex(key) + "=" + HEX.formatHex(value)));
    return lines;
  }

  /**
   * Every entry as text, with lists as a reader sees them: an operand is accepted only if its
   * sequence number is greater than those of all operands accepted before it.
   */
  public List<String> readableLines() {
    List<String> lines = new ArrayList<>();
    entries.forEach(
        (key, value) ->
            lines.add(
                HEX.formatHex(key)
                    + "="
                    + (Changes.isList(key) ? operands(value).toString() : HEX.formatHex(value))));
    return lines;
  }

  private static List<String> operands(byte[] list) {
    List<String> accepted = new ArrayList<>();
    long greatest = -1;
    ByteReader in = new ByteReader(list);
    while (in.remaining() > 0) {
      long sqn = in.readLong();
      byte[] payload = in.readByteArray();
      if (sqn > greatest) {
        greatest = sqn;
        accepted.add(sqn + ":" + HEX.formatHex(payload));
      }
    }
    return accepted;
  }

  private static final class MapScan implements TableScan {
    private final Iterator<Map.Entry<byte[], byte[]>> entries;
    private byte[] key = new byte[0];
    private byte[] value = new byte[0];

    private MapScan(Iterator<Map.Entry<byte[], byte[]>> entries) {
      this.entries = entries;
    }

    @Override
    public boolean next() {
      if (!entries.hasNext()) {
        return false;
      }
      Map.Entry<byte[], byte[]> entry = entries.next();
      key = entry.getKey();
      value = entry.getValue();
      return true;
    }

    @Override
    public byte[] key() {
      return key;
    }

    @Override
    public int keyLength() {
      return key.length;
    }

    @Override
    public byte[] value() {
      return value;
    }

    @Override
    public int valueLength() {
      return value.length;
    }

    @Override
    public void close() {}
  }
}
