package io.alluvium.internal.state;

import io.alluvium.internal.arguments.Arguments;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.spi.TableScan;
import io.alluvium.state.MapState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A map per row: each entry is a key of the table that ends in the user key. Confined to the task
 * thread.
 */
final class MapView<UK, UV> extends StateView implements MapState<UK, UV> {

  /**
   * Up to this many entries are cleared by single deletions; more by a range deletion, which is one
   * change but slows RocksDB's later reads.
   */
  static final int SINGLE_DELETES = 64;

  private final Codec<UK> userKeys;
  private final Codec<UV> values;

  MapView(
      StateAccess<?> access, String name, int id, Serializer<UK> userKeys, Serializer<UV> values) {
    super(access, name, id);
    this.userKeys = Codec.ofAddresses(userKeys, "a user key of state '" + name + "'");
    this.values = values(values);
  }

  @Override
  public @Nullable UV get(UK userKey) {
    enter("get");
    return read(entry(userKey), values);
  }

  @Override
  public void put(UK userKey, UV value) {
    enter("put");
    ByteWriter bytes = access.clearValue();
    values.write(value, bytes);
    access.writePath.put(entry(userKey), bytes);
  }

  @Override
  public void putAll(Map<UK, UV> entries) {
    enter("putAll");
    Arguments.check(entries, "entries");
    // Nothing is put when one of them cannot be: nulls are told before the first.
    entries.forEach(this::check);
    entries.forEach(this::put);
  }

  private void check(UK userKey, UV value) {
    userKeys.check(userKey);
    values.check(value);
  }

  @Override
  public void remove(UK userKey) {
    enter("remove");
    access.writePath.delete(entry(userKey));
  }

  @Override
  public boolean contains(UK userKey) {
    enter("contains");
    return access.writePath.get(entry(userKey), access.clearValue());
  }

  private ByteWriter entry(UK userKey) {
    ByteWriter key = row();
    userKeys.write(userKey, key);
    return key;
  }

  @Override
  public boolean isEmpty() {
    enter("isEmpty");
    try (TableScan scan = access.writePath.scan(row())) {
      return !scan.next();
    }
  }

  @Override
  public Iterator<Map.Entry<UK, UV>> iterator() {
    enter("iterator");
    return new MapEntries<>(this, row(), userKeys, values);
  }

  @Override
  public void clear() {
    enter("clear");
    List<byte[]> keys = new ArrayList<>();
    boolean many;
    try (TableScan scan = access.writePath.scan(row())) {
      many = scan.next();
      while (many && keys.size() < SINGLE_DELETES) {
        keys.add(Arrays.copyOf(scan.key(), scan.keyLength()));
        many = scan.next();
      }
    }
    if (many) {
      access.writePath.deleteRange(row());
      return;
    }
    ByteWriter key = access.key;
    for (byte[] bytes : keys) {
      key.clear();
      key.writeBytes(bytes);
      access.writePath.delete(key);
    }
  }
}
