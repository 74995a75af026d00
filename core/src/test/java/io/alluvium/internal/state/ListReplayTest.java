package io.alluvium.internal.state;

import static io.alluvium.internal.state.Texts.NUMBER;
import static io.alluvium.internal.state.Texts.TEXT;
import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.internal.backend.KeyContext;
import io.alluvium.internal.backend.WritePath;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.ListOperands;
import io.alluvium.spi.Operation;
import io.alluvium.state.ListState;
import io.alluvium.state.StateDescriptor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Proves by enumeration that list changes may be replayed over a table that already holds some of
 * them: every sequence of up to five operations on two keys, every position to replay from, every
 * amount that the table may already hold at or above it. The changes are the bytes that a real list
 * state logs.
 *
 * <p>The content of the files is fuzzy per key; what one key reads after the replay does not depend
 * on how much of the other the files held, so that each key is checked by itself.
 */
final class ListReplayTest {

  private static final int LENGTH = 5;
  private static final String[] KEYS = {"a", "b"};

  /** What a step of a sequence does. */
  private enum Step {
    APPEND_A(0),
    REPLACE_A(0),
    CLEAR_A(0),
    APPEND_B(1),
    REPLACE_B(1),
    CLEAR_B(1),
    CLEAR_ALL(-1);

    final int key;

    Step(int key) {
      this.key = key;
    }
  }

  /** How changes are replayed and lists read; all but the first two are known to be wrong. */
  private enum Variant {
    AS_LOGGED,
    COALESCED_EVERY_OPERAND_TAGGED,
    BROKEN_COMPARED_WITH_THE_OPERAND_BEFORE,
    BROKEN_COALESCED_UNDER_THE_LAST_TAG,
    BROKEN_COALESCED_UNDER_THE_FIRST_TAG;

    boolean isBroken() {
      return name().startsWith("BROKEN");
    }
  }

  /** One key's view of a change: absent from the list when it does not concern the key. */
  private record Change(long sqn, Operation operation, byte[] operand) {}

  private final ListOperands operands = new ListOperands();
  private long cases;
  private long wrong;
  private @Nullable String firstWrong;

  @ParameterizedTest
  @EnumSource
  void replay_overAnythingTheTableMayHold_givesTheSameList(Variant variant) {
    for (int length = 1; length <= LENGTH && wrong == 0; length++) {
      runAll(new Step[length], 0, variant);
    }
    if (variant.isBroken()) {
      assertThat(wrong)
          .as("this wording is known to be wrong and the test must see it")
          .isPositive();
    } else {
      assertThat(firstWrong).isNull();
      assertThat(cases).isGreaterThan(700_000);
    }
  }

  private void runAll(Step[] sequence, int filled, Variant variant) {
    if (filled == sequence.length) {
      run(sequence, variant);
      return;
    }
    for (Step step : Step.values()) {
      sequence[filled] = step;
      runAll(sequence, filled + 1, variant);
    }
  }

  private void run(Step[] sequence, Variant variant) {
    List<MemoryChangelog.Change> log = log(sequence);
    for (int key = 0; key < KEYS.length; key++) {
      List<Change> changes = new ArrayList<>();
      for (int sqn = 0; sqn < log.size(); sqn++) {
        if (sequence[sqn].key == key || sequence[sqn] == Step.CLEAR_ALL) {
          changes.add(new Change(sqn, log.get(sqn).operation(), log.get(sqn).value()));
        }
      }
      int end = sequence.length;
      List<Integer> truth = read(apply(new byte[0], changes, 0, end), Variant.AS_LOGGED);
      for (int contained = 0; contained <= end; contained++) {
        byte[] table = apply(new byte[0], changes, 0, contained);
        for (int position = 0; position <= contained; position++) {
          byte[] replayed = replay(table, changes, position, end, variant);
          cases++;
          List<Integer> found = read(replayed, variant);
          if (!found.equals(truth)) {
            wrong++;
            if (firstWrong == null) {
              firstWrong =
                  Arrays.toString(sequence)
                      + (" key " + KEYS[key] + " from " + position + " over " + contained)
                      + (": expected " + truth + ", found " + found);
            }
          }
        }
      }
    }
  }

  /** Runs a sequence on a real list state; step i writes the elements 10 i (and 10 i + 1). */
  private static List<MemoryChangelog.Change> log(Step[] sequence) {
    MemoryTable table = new MemoryTable();
    MemoryChangelog changelog = new MemoryChangelog();
    WritePath writePath = new WritePath(table, changelog);
    KeyContext<String> keys = new KeyContext<>(TEXT, 1, new KeyGroupRange(0, 1));
    StateRegistry<String> registry = new StateRegistry<>(writePath, keys, List.of());
    ListState<Integer> list = registry.state(StateDescriptor.list("l", NUMBER));
    ByteWriter all = new ByteWriter();
    KeyLayout.writeState(all, 0, KeyLayout.stateId("l"));
    for (int i = 0; i < sequence.length; i++) {
      Step step = sequence[i];
      if (step == Step.CLEAR_ALL) {
        writePath.deleteRange(all);
        continue;
      }
      keys.setCurrentKey(KEYS[step.key]);
      switch (step) {
        case APPEND_A, APPEND_B -> list.add(10 * i);
        case REPLACE_A, REPLACE_B -> list.update(List.of(10 * i, 10 * i + 1));
        default -> list.clear();
      }
    }
    return changelog.changes;
  }

  private static byte[] apply(byte[] start, List<Change> changes, int from, int to) {
    byte[] value = start;
    for (Change change : changes) {
      if (change.sqn >= from && change.sqn < to) {
        value =
            switch (change.operation) {
              case PUT -> change.operand;
              case DELETE, DELETE_RANGE -> new byte[0];
              case MERGE -> concat(value, change.operand);
            };
      }
    }
    return value;
  }

  private static byte[] replay(
      byte[] table, List<Change> changes, int position, int end, Variant variant) {
    if (variant == Variant.AS_LOGGED
        || variant == Variant.BROKEN_COMPARED_WITH_THE_OPERAND_BEFORE) {
      return apply(table, changes, position, end);
    }
    // Coalesced: what is written since the last deletion or replacement, and whether there was one.
    boolean replaces = false;
    List<byte[]> pending = new ArrayList<>();
    for (Change change : changes) {
      if (change.sqn < position) {
        continue;
      }
      if (change.operation != Operation.MERGE) {
        replaces = true;
        pending.clear();
      }
      if (change.operand.length > 0) {
        pending.add(change.operand);
      }
    }
    byte[] joined =
        switch (variant) {
          case BROKEN_COALESCED_UNDER_THE_LAST_TAG -> join(pending, pending.size() - 1);
          case BROKEN_COALESCED_UNDER_THE_FIRST_TAG -> join(pending, 0);
          default -> pending.stream().reduce(new byte[0], ListReplayTest::concat);
        };
    return replaces ? joined : concat(table, joined);
  }

  /** One operand of all the elements, tagged as one of those given. */
  private static byte[] join(List<byte[]> pending, int tagOf) {
    if (pending.isEmpty()) {
      return new byte[0];
    }
    ByteWriter elements = new ByteWriter();
    long tag = 0;
    for (int i = 0; i < pending.size(); i++) {
      ByteReader operand = new ByteReader(pending.get(i));
      long sqn = operand.readLong();
      if (i == tagOf) {
        tag = sqn;
      }
      elements.writeBytes(operand.readBytes(operand.readVarInt()));
    }
    ByteWriter joined = new ByteWriter();
    ListOperands.write(joined, tag, elements);
    return joined.toByteArray();
  }

  private static byte[] concat(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  private List<Integer> read(byte[] value, Variant variant) {
    List<Integer> elements = new ArrayList<>();
    if (variant == Variant.BROKEN_COMPARED_WITH_THE_OPERAND_BEFORE) {
      ByteReader in = new ByteReader(value);
      long before = -1;
      while (in.remaining() > 0) {
        long sqn = in.readLong();
        int payloadEnd = in.readVarInt() + in.position();
        while (in.position() < payloadEnd) {
          int element = in.readInt();
          if (sqn > before) {
            elements.add(element);
          }
        }
        before = sqn;
      }
      return elements;
    }
    operands.reset(value, 0, value.length);
    while (operands.next()) {
      while (operands.hasElements()) {
        elements.add(operands.reader().readInt());
      }
    }
    return elements;
  }
}
