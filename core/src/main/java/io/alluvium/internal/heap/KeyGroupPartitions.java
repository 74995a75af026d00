package io.alluvium.internal.heap;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The states of one key group. Confined to one thread at a time. */
final class KeyGroupPartitions {

  private final int keyGroup;
  private int[] ids = new int[2];
  private @Nullable Partition[] partitions = new @Nullable Partition[2];
  private int count;

  KeyGroupPartitions(int keyGroup) {
    this.keyGroup = keyGroup;
  }

  @Nullable Partition find(int stateId) {
    for (int i = 0; i < count; i++) {
      if (ids[i] == stateId) {
        return partitions[i];
      }
    }
    return null;
  }

  Partition findOrAdd(int stateId) {
    Partition known = find(stateId);
    if (known != null) {
      return known;
    }
    Partition partition = new Partition(keyGroup, stateId);
    if (count == ids.length) {
      ids = Arrays.copyOf(ids, 2 * count);
      partitions = Arrays.copyOf(partitions, 2 * count);
    }
    ids[count] = stateId;
    partitions[count++] = partition;
    return partition;
  }

  /** The partitions in the order of their keys, which is not that of the state ids. */
  List<Partition> inOrder() {
    List<Partition> all = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      Partition partition = partitions[i];
      if (partition != null && partition.rows() > 0) {
        all.add(partition);
      }
    }
    all.sort((a, b) -> Arrays.compareUnsigned(a.prefix, b.prefix));
    return all;
  }
}
