package io.alluvium.internal.restore;

import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointHandle.Part;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateRegistration;
import io.alluvium.internal.restore.RestorePlan.BlockRead;
import io.alluvium.internal.restore.RestorePlan.Position;
import io.alluvium.internal.restore.RestorePlan.Source;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.TableFile;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;

/** Makes one {@link RestorePlan}. Confined to one thread. */
final class RestorePlanner {

  /*
   * A handle is a set of parents (parts) below one changelog (tail). The new backend takes of each what lies in its own
   * key groups: a clip. Key groups of a handle that no part names have no parent, only the tail.
   *
   * The blocks of a part come from one or more changelogs of earlier backends, each of which started where the one
   * before it had ended, so that sequence numbers ascend through all of them and the tail. That is why one position per
   * key group says where to start, and why a block that ends at or below it is not needed any more.
   *
   * A new changelog starts at the greatest end of all parents, so that there are no changes between the end of another
   * parent and that start. A parent of which nothing is replayed any more therefore holds everything below the start:
   * that is written down as its position (also for no files at all), so that a position below the first block always
   * means that changes are missing.
   *
   * Two clips of the same files that meet (a parent that was split by a rescale and is joined by the next) are opened
   * as one: importing the same files twice would only make the table larger.
   */

  /** Of no files. */
  private static final String NO_FORMAT = "none";

  private final List<CheckpointHandle> handles;
  private final KeyGroupRange keyGroups;
  private final int maxParallelism;
  private final List<Source> sources = new ArrayList<>();
  private final List<BlockRead> reads = new ArrayList<>();
  private final List<Position> positions = new ArrayList<>();
  private final List<Part> parts = new ArrayList<>();

  /** Where the new changelog starts. */
  private long start;

  /** What the new backend takes of one parent. */
  private record Clip(
      KeyGroupRange keyGroups, Optional<Materialization> files, List<BlockRef> blocks) {
    long position() {
      return files.map(Materialization::position).orElse(0L);
    }

    boolean needs(BlockRef block) {
      return block.toSqn() > position();
    }
  }

  RestorePlanner(List<CheckpointHandle> handles, KeyGroupRange keyGroups, int maxParallelism) {
    this.handles = handles;
    this.keyGroups = keyGroups;
    this.maxParallelism = maxParallelism;
  }

  RestorePlan plan() {
    checkBelongTogether();
    List<CheckpointHandle> needed =
        handles.stream()
            .filter(handle -> !handle.keyGroups().intersect(keyGroups).isEmpty())
            .sorted(Comparator.comparingInt(handle -> handle.keyGroups().from()))
            .toList();
    checkCovered(needed);
    start = needed.stream().mapToLong(CheckpointHandle::end).max().orElse(0);
    needed.forEach(this::add);
    return new RestorePlan(
        keyGroups, start, sources, reads, positions, parts, key(needed), states(needed));
  }

  private void checkBelongTogether() {
    CheckpointHandle first = handles.get(0);
    for (CheckpointHandle handle : handles) {
      if (handle.checkpointId() != first.checkpointId()) {
        throw StateBackendException.invalid(
            "handles of checkpoint "
                + first.checkpointId()
                + " and of checkpoint "
                + handle.checkpointId()
                + " cannot be restored together; give the handles of one checkpoint");
      }
      if (handle.maxParallelism() != maxParallelism) {
        throw StateBackendException.invalid(
            "checkpoint "
                + handle.checkpointId()
                + " was taken with a maximum parallelism of "
                + handle.maxParallelism()
                + " and cannot be restored with "
                + maxParallelism
                + "; the maximum parallelism is fixed for the life of a job");
      }
    }
  }

  private void checkCovered(List<CheckpointHandle> needed) {
    int covered = keyGroups.from();
    for (int i = 0; i < needed.size(); i++) {
      KeyGroupRange own = needed.get(i).keyGroups();
      if (i > 0 && own.from() < needed.get(i - 1).keyGroups().to()) {
        throw StateBackendException.invalid(
            "two handles of checkpoint "
                + needed.get(i).checkpointId()
                + " hold the same key groups: "
                + needed.get(i - 1).keyGroups()
                + " and "
                + own);
      }
      if (own.from() > covered) {
        throw gap(covered, own.from());
      }
      covered = own.to();
    }
    if (covered < keyGroups.to()) {
      throw gap(covered, keyGroups.to());
    }
  }

  private StateBackendException gap(int from, int to) {
    return StateBackendException.invalid(
        "no handle of checkpoint "
            + handles.get(0).checkpointId()
            + " holds the key groups "
            + new KeyGroupRange(from, to)
            + "; give the handles of all its subtasks");
  }

  private void add(CheckpointHandle handle) {
    checkBlocks(handle, handle.tail(), handle.end(), true);
    List<Clip> clips = clips(handle);
    long lowest = Long.MAX_VALUE;
    for (Clip clip : clips) {
      lowest = Math.min(lowest, clip.position());
      clip.files().ifPresent(files -> addSource(clip.keyGroups(), files));
      positions.add(new Position(clip.keyGroups(), clip.position()));
      List<BlockRef> blocks = new ArrayList<>(clip.blocks());
      blocks.addAll(filter(handle.tail(), clip::needs));
      checkNothingMissing(handle, clip, blocks);
      addPart(clip, blocks);
      for (BlockRef block : clip.blocks()) {
        reads.add(new BlockRead(block, clip.keyGroups()));
      }
    }
    KeyGroupRange all = handle.keyGroups().intersect(keyGroups);
    for (BlockRef block : handle.tail()) {
      if (block.toSqn() > lowest) {
        reads.add(new BlockRead(block, all));
      }
    }
  }

  /** Cuts the new backend's share out of a handle; ascending, without gaps. */
  private List<Clip> clips(CheckpointHandle handle) {
    KeyGroupRange all = handle.keyGroups().intersect(keyGroups);
    List<Part> ascending = new ArrayList<>(handle.parts());
    ascending.sort(Comparator.comparingInt(part -> part.keyGroups().from()));
    List<Clip> clips = new ArrayList<>();
    int at = all.from();
    for (Part part : ascending) {
      checkPart(handle, part);
      KeyGroupRange own = part.keyGroups().intersect(all);
      if (own.isEmpty()) {
        continue;
      }
      if (own.from() < at) {
        throw corrupt(handle, "two of its parts hold key group " + own.from());
      }
      if (own.from() > at) {
        clips.add(young(at, own.from()));
      }
      clips.add(clip(part, own));
      at = own.to();
    }
    if (at < all.to()) {
      clips.add(young(at, all.to()));
    }
    return clips;
  }

  private static Clip young(int from, int to) {
    return new Clip(new KeyGroupRange(from, to), Optional.empty(), List.of());
  }

  private static Clip clip(Part part, KeyGroupRange own) {
    Clip whole = new Clip(own, part.materialization(), part.blocks());
    return new Clip(own, part.materialization(), filter(part.blocks(), whole::needs));
  }

  private static List<BlockRef> filter(List<BlockRef> blocks, Predicate<BlockRef> condition) {
    return blocks.stream().filter(condition).toList();
  }

  private static void checkPart(CheckpointHandle handle, Part part) {
    part.materialization()
        .ifPresent(
            files -> {
              if (files.position() > files.containedUpTo()
                  || files.containedUpTo() > handle.end()) {
                throw corrupt(
                    handle,
                    "it ends at sequence number "
                        + handle.end()
                        + " but names files that start at "
                        + files.position()
                        + " and reach up to "
                        + files.containedUpTo());
              }
            });
    checkBlocks(handle, part.blocks(), handle.end(), false);
  }

  /**
   * Blocks ascend. Those of a tail come from one changelog and leave nothing out; those of a part
   * may come from several, where one ended before the next started.
   */
  private static void checkBlocks(
      CheckpointHandle handle, List<BlockRef> blocks, long end, boolean isTail) {
    for (int i = 0; i < blocks.size(); i++) {
      BlockRef block = blocks.get(i);
      long expected = i == 0 ? block.fromSqn() : blocks.get(i - 1).toSqn();
      boolean follows = isTail ? block.fromSqn() == expected : block.fromSqn() >= expected;
      if (!follows || block.toSqn() <= block.fromSqn() || block.toSqn() > end) {
        throw corrupt(
            handle,
            "expected a block from sequence number "
                + expected
                + " that ends at or below "
                + end
                + ", found ["
                + block.fromSqn()
                + ", "
                + block.toSqn()
                + ") in blob '"
                + block.blob()
                + "'");
      }
    }
    if (isTail && !blocks.isEmpty() && blocks.get(blocks.size() - 1).toSqn() != end) {
      throw corrupt(
          handle,
          "expected a changelog up to sequence number "
              + end
              + ", found one that ends at "
              + blocks.get(blocks.size() - 1).toSqn());
    }
  }

  /** What is replayed starts where the files end, or before. */
  private static void checkNothingMissing(
      CheckpointHandle handle, Clip clip, List<BlockRef> blocks) {
    long from = blocks.isEmpty() ? handle.end() : blocks.get(0).fromSqn();
    if (from > clip.position()) {
      throw corrupt(
          handle,
          "the changes of key groups "
              + clip.keyGroups()
              + " from sequence number "
              + clip.position()
              + ", where "
              + (clip.files().isPresent() ? "its files end" : "it starts")
              + ", to "
              + from
              + " are in none of its blocks");
    }
  }

  private static StateBackendException corrupt(CheckpointHandle handle, String what) {
    return StateBackendException.corrupt(
        "the handle of key groups "
            + handle.keyGroups()
            + " of checkpoint "
            + handle.checkpointId()
            + " is damaged: "
            + what);
  }

  private void addSource(KeyGroupRange own, Materialization files) {
    if (files.files().isEmpty()) {
      return;
    }
    int last = sources.size() - 1;
    if (last >= 0
        && sources.get(last).keyGroups().to() == own.from()
        && isSame(sources.get(last).files(), files)) {
      sources.set(
          last,
          new Source(files, new KeyGroupRange(sources.get(last).keyGroups().from(), own.to())));
    } else {
      sources.add(new Source(files, own));
    }
  }

  /** Siblings may have gone on from the same files at different positions. */
  private static boolean isSame(Materialization a, Materialization b) {
    return a.format().equals(b.format()) && a.files().equals(b.files());
  }

  private void addPart(Clip clip, List<BlockRef> blocks) {
    if (!blocks.isEmpty()) {
      parts.add(new Part(clip.keyGroups(), clip.files(), blocks));
    } else if (clip.files().isPresent() || start > 0) {
      String format = clip.files().map(Materialization::format).orElse(NO_FORMAT);
      List<TableFile> files = clip.files().map(Materialization::files).orElse(List.of());
      Materialization all = new Materialization(format, start, start, files);
      parts.add(new Part(clip.keyGroups(), Optional.of(all), blocks));
    }
  }

  private static Optional<SerializerSnapshot> key(List<CheckpointHandle> needed) {
    for (CheckpointHandle handle : needed) {
      if (!handle.key().equals(needed.get(0).key())) {
        throw StateBackendException.incompatible(
            "the subtasks of checkpoint "
                + handle.checkpointId()
                + " wrote their keys in different formats: "
                + needed.get(0).key()
                + " and "
                + handle.key());
      }
    }
    return needed.stream().map(CheckpointHandle::key).findFirst();
  }

  private static List<StateRegistration> states(List<CheckpointHandle> needed) {
    Map<String, StateRegistration> byName = new TreeMap<>();
    Map<Integer, StateRegistration> byId = new HashMap<>();
    for (CheckpointHandle handle : needed) {
      for (StateRegistration state : handle.states()) {
        StateRegistration same = byName.putIfAbsent(state.name(), state);
        if (same != null && !same.equals(state)) {
          throw StateBackendException.incompatible(
              "subtasks of checkpoint "
                  + handle.checkpointId()
                  + " hold state '"
                  + state.name()
                  + "' in different formats: "
                  + describe(same)
                  + " and "
                  + describe(state)
                  + "; restore it with its former parallelism, let every subtask register the"
                  + " state, take a checkpoint, then rescale");
        }
        StateRegistration other = byId.putIfAbsent(state.id(), state);
        if (other != null && !other.name().equals(state.name())) {
          throw StateBackendException.incompatible(
              "states '"
                  + other.name()
                  + "' and '"
                  + state.name()
                  + "' of checkpoint "
                  + handle.checkpointId()
                  + " have the same id "
                  + state.id()
                  + "; rename one of them");
        }
      }
    }
    return List.copyOf(byName.values());
  }

  private static String describe(StateRegistration state) {
    return state.kind() + " of " + state.values() + " by " + state.namespace();
  }
}
