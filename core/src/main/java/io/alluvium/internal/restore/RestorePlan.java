package io.alluvium.internal.restore;

import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointHandle.Part;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateRegistration;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Materialization;
import java.util.List;
import java.util.Optional;

/**
 * What a restore reads and what it starts from, worked out from the handles of one checkpoint
 * before anything is read. Immutable.
 *
 * @param keyGroups of the restored backend
 * @param startSqn where its own changelog starts: the greatest end of what is restored (P4)
 * @param sources table files to open; disjoint, ascending
 * @param reads blocks of changelogs to replay; in order for every key group
 * @param positions from where each key group is replayed; disjoint, ascending, without gaps unless
 *     there is nothing to restore
 * @param parts what later checkpoints name in front of their own changelog, until the first
 *     materialization of the restored backend
 * @param key format of the keys; empty when there is nothing to restore
 * @param states all registered states, by name ascending
 */
public record RestorePlan(
    KeyGroupRange keyGroups,
    long startSqn,
    List<Source> sources,
    List<BlockRead> reads,
    List<Position> positions,
    List<Part> parts,
    Optional<SerializerSnapshot> key,
    List<StateRegistration> states) {

  /** Files of one materialization and what to take from them. Immutable. */
  public record Source(Materialization files, KeyGroupRange keyGroups) {}

  /** A block to replay and the key groups to take from it. Immutable. */
  public record BlockRead(BlockRef block, KeyGroupRange keyGroups) {}

  /** The first sequence number that some key groups are replayed from. Immutable. */
  public record Position(KeyGroupRange keyGroups, long sqn) {}

  public RestorePlan {
    sources = List.copyOf(sources);
    reads = List.copyOf(reads);
    positions = List.copyOf(positions);
    parts = List.copyOf(parts);
    states = List.copyOf(states);
  }

  /** Of a backend that starts empty. */
  public static RestorePlan empty(KeyGroupRange keyGroups) {
    return new RestorePlan(
        keyGroups, 0, List.of(), List.of(), List.of(), List.of(), Optional.empty(), List.of());
  }

  /**
   * Plans the restore of a range of key groups.
   *
   * @param handles of one checkpoint, as many as there are; those that do not overlap the range are
   *     only checked to belong to the others; none for a backend that starts empty
   * @throws io.alluvium.StateBackendException {@code INVALID} when the handles do not belong
   *     together or leave a key group out, {@code INCOMPATIBLE} when their states contradict each
   *     other, {@code CORRUPT} when a handle contradicts itself
   */
  public static RestorePlan of(
      List<CheckpointHandle> handles, KeyGroupRange keyGroups, int maxParallelism) {
    return handles.isEmpty()
        ? empty(keyGroups)
        : new RestorePlanner(handles, keyGroups, maxParallelism).plan();
  }

  /** The sequence number from which a key group is replayed. */
  public long position(int keyGroup) {
    for (int i = 0; i < positions.size(); i++) {
      if (positions.get(i).keyGroups().contains(keyGroup)) {
        return positions.get(i).sqn();
      }
    }
    return startSqn;
  }
}
