package io.alluvium.internal.restore;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Operation;
import io.alluvium.spi.SortedChanges;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every short sequence of changes of two lists, replayed from every position onto files that hold
 * any part of it, must read as the sequence does: as models/replay.py (T12, T13), against the real
 * {@link Coalescer}, and against ways to coalesce that are wrong.
 */
final class ReplayModelTest {

  private static final KeyGroupRange GROUPS = new KeyGroupRange(0, 1);
  private static final byte[] STATE = {0, 0, 1};
  private static final byte[][] KEYS = {{0, 0, 1, 1}, {0, 0, 1, 2}};
  private static final byte[] NOTHING = {};

  /** What can happen to the lists: append, replace, remove each, and remove both at once. */
  private static final List<Step> STEPS =
      List.of(
          new Step(Operation.MERGE, KEYS[0]),
          new Step(Operation.PUT, KEYS[0]),
          new Step(Operation.DELETE, KEYS[0]),
          new Step(Operation.MERGE, KEYS[1]),
          new Step(Operation.PUT, KEYS[1]),
          new Step(Operation.DELETE, KEYS[1]),
          new Step(Operation.DELETE_RANGE, STATE));

  private record Step(Operation operation, byte[] key) {}

  /** What is put onto a table for a batch of changes, those below {@code position} included. */
  private interface Replay {
    List<Change> replay(List<Change> changes, long position);
  }

  /** Ways to coalesce that lose or repeat elements. */
  private enum Wrong implements Replay {
    /** The last write wins, a MERGE after a DELETE stays a MERGE. */
    MERGE_REPLACES_DELETE,
    /** Operands are joined across a range deletion. */
    BARRIER_JOINED,
    /** The joined operand carries the last tag. */
    LAST_TAG,
    /** The joined operand carries the first tag. */
    FIRST_TAG,
    /** What the first part of an entry is numbered decides whether the entry is skipped. */
    SKIPPED_BY_FIRST_SQN;

    @Override
    public List<Change> replay(List<Change> changes, long position) {
      List<Change> result = new ArrayList<>();
      Map<byte[], List<Change>> pending = new TreeMap<>(ModelTable.ORDER);
      for (Change change : changes) {
        if (change.sqn() < position && this != SKIPPED_BY_FIRST_SQN) {
          continue;
        }
        if (change.operation() == Operation.DELETE_RANGE) {
          if (change.sqn() >= position) {
            result.add(change);
          }
          if (this != BARRIER_JOINED) {
            pending.keySet().removeIf(key -> ModelTable.startsWith(key, change.key()));
          }
          continue;
        }
        List<Change> chain = pending.computeIfAbsent(change.key(), key -> new ArrayList<>());
        boolean afterDelete = !chain.isEmpty() && chain.get(0).operation() == Operation.DELETE;
        if (change.operation() != Operation.MERGE
            || (this == MERGE_REPLACES_DELETE && afterDelete)) {
          chain.clear();
        }
        chain.add(change);
      }
      for (List<Change> chain : pending.values()) {
        if (this != SKIPPED_BY_FIRST_SQN || chain.get(0).sqn() >= position) {
          add(chain, result);
        }
      }
      return result;
    }

    private void add(List<Change> chain, List<Change> result) {
      long tag = chain.get(this == FIRST_TAG ? 0 : chain.size() - 1).sqn();
      boolean isRetagged =
          (this == FIRST_TAG || this == LAST_TAG)
              && chain.size() > 1
              && chain.stream().noneMatch(change -> change.operation() == Operation.DELETE);
      if (!isRetagged) {
        result.addAll(chain);
        return;
      }
      ByteWriter operand = new ByteWriter();
      operand.writeLong(tag);
      operand.writeVarInt(chain.size());
      for (Change change : chain) {
        operand.writeByte(change.value()[Long.BYTES + 1]);
      }
      Change first = chain.get(0);
      result.add(new Change(tag, first.operation(), first.key(), operand.toByteArray()));
    }
  }

  @Test
  void replay_everySequenceUpToFive_fromEveryPosition_readsAsTheSequence() {
    Coalescer coalescer = new Coalescer();
    Replay real =
        (changes, position) ->
            entries(
                coalescer.coalesce(
                    List.of(MemoryBlock.fetched(changes)), GROUPS, group -> position));
    for (int length = 1; length <= 5; length++) {
      assertThat(firstFailure(length, real)).isEmpty();
    }
  }

  @ParameterizedTest
  @EnumSource(Wrong.class)
  void replay_wrongly_isNoticed(Wrong wrong) {
    StringBuilder found = new StringBuilder();
    for (int length = 1; length <= 4 && found.isEmpty(); length++) {
      found.append(firstFailure(length, wrong));
    }
    assertThat(found.toString()).isNotEmpty();
  }

  private static List<Change> entries(SortedChanges changes) {
    List<Change> entries = new ArrayList<>();
    for (byte[] prefix : changes.rangeDeletes()) {
      entries.add(new Change(0, Operation.DELETE_RANGE, prefix, NOTHING));
    }
    while (changes.next()) {
      int keyEnd = changes.keyOffset() + changes.keyLength();
      int valueEnd = changes.valueOffset() + changes.valueLength();
      entries.add(
          new Change(
              0,
              changes.operation(),
              Arrays.copyOfRange(changes.keyArray(), changes.keyOffset(), keyEnd),
              Arrays.copyOfRange(changes.valueArray(), changes.valueOffset(), valueEnd)));
    }
    return entries;
  }

  /** Describes the first case that reads differently; empty when there is none. */
  private static String firstFailure(int length, Replay replay) {
    int[] steps = new int[length];
    do {
      List<Change> changes = new ArrayList<>();
      for (int sqn = 0; sqn < length; sqn++) {
        changes.add(change(sqn, STEPS.get(steps[sqn])));
      }
      String failure = firstFailure(changes, replay);
      if (!failure.isEmpty()) {
        return failure;
      }
    } while (next(steps));
    return "";
  }

  private static boolean next(int[] steps) {
    for (int i = 0; i < steps.length; i++) {
      if (++steps[i] < STEPS.size()) {
        return true;
      }
      steps[i] = 0;
    }
    return false;
  }

  private static Change change(int sqn, Step step) {
    boolean hasValue = step.operation == Operation.MERGE || step.operation == Operation.PUT;
    return new Change(sqn, step.operation, step.key, hasValue ? operand(sqn) : NOTHING);
  }

  /** A list operand of one element, which is its number. */
  private static byte[] operand(int sqn) {
    ByteWriter out = new ByteWriter();
    out.writeLong(sqn);
    out.writeVarInt(1);
    out.writeByte(sqn);
    return out.toByteArray();
  }

  /** Files hold each key as it was anywhere between the position and the end. */
  private static String firstFailure(List<Change> changes, Replay replay) {
    int end = changes.size();
    List<ModelTable> history = new ArrayList<>();
    history.add(new ModelTable());
    for (Change change : changes) {
      ModelTable table = history.get(history.size() - 1).copy();
      table.apply(change);
      history.add(table);
    }
    List<List<Integer>> expected = read(history.get(end));
    for (int position = 0; position <= end; position++) {
      List<Change> replayed = replay.replay(changes, position);
      for (int a = position; a <= end; a++) {
        for (int b = position; b <= end; b++) {
          ModelTable table = new ModelTable();
          copyRow(history.get(a), KEYS[0], table);
          copyRow(history.get(b), KEYS[1], table);
          replayed.forEach(table::apply);
          List<List<Integer>> found = read(table);
          if (!found.equals(expected)) {
            return changes
                + (" from " + position + " onto files of " + a + " and " + b)
                + (": expected " + expected + ", found " + found);
          }
        }
      }
    }
    return "";
  }

  private static void copyRow(ModelTable source, byte[] key, ModelTable target) {
    byte[] value = source.rows().get(key);
    if (value != null) {
      target.apply(Operation.PUT, key, value);
    }
  }

  private static List<List<Integer>> read(ModelTable table) {
    List<List<Integer>> lists = new ArrayList<>();
    for (byte[] key : KEYS) {
      lists.add(readList(table.rows().getOrDefault(key, NOTHING)));
    }
    return lists;
  }

  /** An operand counts when its tag is greater than the greatest accepted before it. */
  static List<Integer> readList(byte[] value) {
    List<Integer> elements = new ArrayList<>();
    ByteReader in = new ByteReader();
    in.reset(value, 0, value.length);
    long greatest = -1;
    while (in.remaining() > 0) {
      long tag = in.readLong();
      int count = in.readVarInt();
      for (int i = 0; i < count; i++) {
        int element = in.readByte();
        if (tag > greatest) {
          elements.add(element);
        }
      }
      greatest = Math.max(greatest, tag);
    }
    return elements;
  }
}
