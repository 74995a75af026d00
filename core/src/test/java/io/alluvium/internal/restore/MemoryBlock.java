package io.alluvium.internal.restore;

import io.alluvium.KeyGroupRange;
import io.alluvium.spi.ChangeBlock;
import io.alluvium.spi.ChangeCursor;
import io.alluvium.spi.Operation;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A block whose keys and values lie in one array, as those of a decoded segment do. Immutable. */
final class MemoryBlock implements ChangeBlock {

  private record Entry(Change change, int keyOffset, int valueOffset) {}

  private final byte[] bytes;
  private final Map<Integer, List<Entry>> entries = new TreeMap<>();

  MemoryBlock(List<Change> changes) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(0);
    for (Change change : changes) {
      int keyOffset = out.size();
      out.writeBytes(change.key());
      int valueOffset = out.size();
      out.writeBytes(change.value());
      entries
          .computeIfAbsent(change.keyGroup(), group -> new ArrayList<>())
          .add(new Entry(change, keyOffset, valueOffset));
    }
    bytes = out.toByteArray();
  }

  static FetchedBlock fetched(List<Change> changes) {
    return new FetchedBlock(
        new MemoryBlock(changes), new KeyGroupRange(0, KeyGroupRange.MAX_KEY_GROUPS));
  }

  @Override
  public long sizeBytes() {
    return bytes.length;
  }

  @Override
  public ChangeCursor changes(int keyGroup) {
    return new Cursor(entries.getOrDefault(keyGroup, List.of()));
  }

  private final class Cursor implements ChangeCursor {
    private final List<Entry> group;
    private int at = -1;

    Cursor(List<Entry> group) {
      this.group = group;
    }

    @Override
    public boolean next() {
      return ++at < group.size();
    }

    @Override
    public long sqn() {
      return group.get(at).change().sqn();
    }

    @Override
    public Operation operation() {
      return group.get(at).change().operation();
    }

    @Override
    public byte[] array() {
      return bytes;
    }

    @Override
    public int keyOffset() {
      return group.get(at).keyOffset();
    }

    @Override
    public int keyLength() {
      return group.get(at).change().key().length;
    }

    @Override
    public int valueOffset() {
      return group.get(at).valueOffset();
    }

    @Override
    public int valueLength() {
      return group.get(at).change().value().length;
    }
  }
}
