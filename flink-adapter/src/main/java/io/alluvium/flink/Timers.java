package io.alluvium.flink;

import io.alluvium.bytes.ByteBackend;
import io.alluvium.bytes.ByteQueue;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.runtime.state.KeyExtractorFunction;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.PriorityComparator;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.apache.flink.runtime.state.heap.KeyGroupPartitionedPriorityQueue;
import org.apache.flink.runtime.state.heap.KeyGroupPartitionedPriorityQueue.PartitionQueueSetFactory;

/**
 * Flink's timers: a queue of core for each key group, and Flink's own heap over them, because only
 * Flink can compare timers of two key groups. Confined to the task thread.
 */
final class Timers<T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>> {

  private final List<KeyGroupTimers<T>> groups = new ArrayList<>();
  private final KeyGroupPartitionedPriorityQueue<T, KeyGroupTimers<T>> queue;

  Timers(
      ByteBackend bytes,
      int numberOfKeyGroups,
      StateCatalog.Entry entry,
      TypeSerializer<T> serializer) {
    ByteQueue.Start start = entry.restored ? ByteQueue.Start.RESTORED : ByteQueue.Start.EMPTY;
    this.queue =
        new KeyGroupPartitionedPriorityQueue<>(
            KeyExtractorFunction.forKeyedObjects(),
            PriorityComparator.forPriorityComparableObjects(),
            new PartitionQueueSetFactory<T, KeyGroupTimers<T>>() {
              @Override
              public KeyGroupTimers<T> create(
                  int keyGroup,
                  int all,
                  KeyExtractorFunction<T> keys,
                  PriorityComparator<T> order) {
                KeyGroupTimers<T> group =
                    new KeyGroupTimers<>(bytes, entry.id, keyGroup, start, serializer);
                groups.add(group);
                return group;
              }
            },
            KeyGroupRange.of(bytes.keyGroups().from(), bytes.keyGroups().to() - 1),
            numberOfKeyGroups);
  }

  KeyGroupPartitionedPriorityQueue<T, KeyGroupTimers<T>> queue() {
    return queue;
  }

  /** The queue was registered again. */
  void setSerializer(TypeSerializer<T> serializer) {
    groups.forEach(group -> group.setSerializer(serializer));
  }
}
