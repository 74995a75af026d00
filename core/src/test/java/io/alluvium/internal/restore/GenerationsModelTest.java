package io.alluvium.internal.restore;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointHandle.Part;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Operation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.io.TempDirFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random lives of a job: some changes, a checkpoint with or without a materialization or a
 * changelog, a restore with another parallelism, and again. What is restored must read as what was
 * written (T1, T10). As models/generations.py, with the real {@link Restorer}; the rules that the
 * model broke are broken here too, and must be noticed.
 */
final class GenerationsModelTest {

  private static final int KEY_GROUPS = 4;
  private static final int TRIALS =
      Integer.getInteger("seeds", Boolean.getBoolean("alluvium.full") ? 3_000 : 60);
  private static final SerializerSnapshot KEY = new SerializerSnapshot("int", 1, new byte[0]);

  /** A rule of the protocol that is not kept. */
  private enum Broken {
    NOTHING,
    /** The lower bound of what files hold is taken for what they hold. */
    APPLIED_IS_UPPER_BOUND,
    /** The end of a checkpoint is that of its last block. */
    END_OF_LAST_BLOCK,
    /** The new changelog starts at the least end. */
    STARTS_AT_LEAST_END,
    /** Numbers do not run on while the changelog is off. */
    NO_NUMBERS_WHEN_OFF,
    /** A checkpoint without a changelog records no end. */
    NO_END_WHEN_OFF
  }

  /** Thousands of tiny files: in memory where the system offers that. */
  static final class InMemory implements TempDirFactory {
    private static final Path MEMORY = Path.of("/dev/shm");

    @Override
    public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext extension)
        throws IOException {
      return Files.isWritable(MEMORY)
          ? Files.createTempDirectory(MEMORY, "alluvium")
          : Files.createTempDirectory("alluvium");
    }
  }

  @TempDir(factory = InMemory.class)
  private Path directory;

  @Test
  void restore_overGenerations_readsAsWritten() {
    for (long seed = 0; seed < TRIALS; seed++) {
      assertThat(new Trial(Broken.NOTHING, seed).run()).as("seed %d", seed).isEmpty();
    }
  }

  @ParameterizedTest
  @EnumSource(names = "NOTHING", mode = EnumSource.Mode.EXCLUDE)
  void restore_withABrokenRule_isNoticed(Broken broken) {
    String found = "";
    for (long seed = 0; seed < 2_000 && found.isEmpty(); seed++) {
      try {
        found = new Trial(broken, seed).run();
      } catch (StateBackendException e) {
        assertThat(e.kind()).isEqualTo(StateBackendException.Kind.CORRUPT);
        found = e.toString();
      }
    }
    assertThat(found).isNotEmpty();
  }

  /** A subtask since its last restore. */
  private record Subtask(KeyGroupRange keyGroups, ModelTable table, List<Part> parts, long start) {}

  private final class Trial {
    private final Broken broken;
    private final Random random;
    private final DirectExecution execution = new DirectExecution();
    private final FakeLog log = new FakeLog(execution);
    private final FaultyStore store = new FaultyStore();
    private final Restorer restorer =
        new Restorer(
            new ModelTables(),
            format -> new ModelTables(),
            new Restorer.Components(store, log, execution, Metrics.NONE, new ReplaySpeed()),
            new Restorer.Settings(64, 2, 1 << 10));
    private final ModelTable truth = new ModelTable();
    private final String name;
    private int elements;
    private long written;

    Trial(Broken broken, long seed) {
      this.broken = broken;
      this.random = new Random(seed);
      this.name = broken + "-" + seed;
    }

    /** Describes what was restored wrongly; empty when nothing was. */
    String run() {
      List<Subtask> subtasks = new ArrayList<>();
      int parallelism = 1 + random.nextInt(3);
      for (int i = 0; i < parallelism; i++) {
        subtasks.add(new Subtask(range(parallelism, i), new ModelTable(), List.of(), 0));
      }
      int generations = 2 + random.nextInt(4);
      for (int generation = 0; generation < generations; generation++) {
        // Half of the lives are with a changelog all the time.
        boolean logged = generations % 2 == 0 || random.nextBoolean();
        List<CheckpointHandle> handles = new ArrayList<>();
        for (Subtask subtask : subtasks) {
          handles.add(live(subtask, generation, logged));
        }
        subtasks = restore(handles, generation);
        for (Subtask subtask : subtasks) {
          String difference = difference(subtask);
          if (!difference.isEmpty()) {
            return "generation " + generation + ": " + difference;
          }
        }
      }
      return "";
    }

    private KeyGroupRange range(int parallelism, int subtask) {
      return KeyGroupRange.ofSubtask(KEY_GROUPS, parallelism, subtask);
    }

    /** Makes changes and a checkpoint among them. */
    private CheckpointHandle live(Subtask subtask, long id, boolean logged) {
      int count = random.nextInt(7);
      List<Change> changes = new ArrayList<>();
      List<ModelTable> history = new ArrayList<>();
      history.add(subtask.table().copy());
      for (int i = 0; i < count; i++) {
        boolean numbered = logged || broken != Broken.NO_NUMBERS_WHEN_OFF;
        changes.add(change(subtask.keyGroups(), subtask.start() + (numbered ? i : 0)));
        ModelTable next = history.get(i).copy();
        next.apply(changes.get(i));
        history.add(next);
      }
      int at = random.nextInt(count + 1);
      changes.subList(0, at).forEach(change -> truth.apply(truly(change)));
      long end = subtask.start() + at;
      if (!logged) {
        boolean numbered = broken != Broken.NO_NUMBERS_WHEN_OFF && broken != Broken.NO_END_WHEN_OFF;
        end = numbered ? end : broken == Broken.NO_END_WHEN_OFF ? 0 : subtask.start();
        return handle(subtask, id, end, List.of(exact(subtask, end, history.get(at))), List.of());
      }
      if (random.nextInt(5) < 2) {
        List<BlockRef> tail = blocks(changes.subList(0, at));
        return handle(subtask, id, endOf(end, tail), subtask.parts(), tail);
      }
      int position = random.nextInt(at + 1);
      Part part = fuzzy(subtask, history, position, at);
      List<BlockRef> tail = blocks(changes.subList(random.nextInt(position + 1), at));
      return handle(subtask, id, endOf(end, tail), List.of(part), tail);
    }

    private long endOf(long end, List<BlockRef> tail) {
      if (broken != Broken.END_OF_LAST_BLOCK) {
        return end;
      }
      return tail.isEmpty() ? 0 : tail.get(tail.size() - 1).toSqn();
    }

    private Change change(KeyGroupRange keyGroups, long sqn) {
      int keyGroup = keyGroups.from() + random.nextInt(keyGroups.size());
      byte[] key = {0, (byte) keyGroup, 1, (byte) random.nextInt(2)};
      ByteWriter operand = new ByteWriter();
      operand.writeLong(sqn);
      operand.writeVarInt(1);
      operand.writeByte(elements++);
      return switch (random.nextInt(7)) {
        case 0 -> new Change(sqn, Operation.PUT, key, operand.toByteArray());
        case 1 -> new Change(sqn, Operation.DELETE, key, new byte[0]);
        case 2 ->
            new Change(
                sqn, Operation.DELETE_RANGE, new byte[] {0, (byte) keyGroup, 1}, new byte[0]);
        default -> new Change(sqn, Operation.MERGE, key, operand.toByteArray());
      };
    }

    /** The change as it was meant: its operand counts, whatever tag it was given. */
    private Change truly(Change change) {
      ByteWriter operand = new ByteWriter();
      if (change.value().length > 0) {
        operand.writeLong(written++);
        operand.writeBytes(change.value(), Long.BYTES, change.value().length - Long.BYTES);
      }
      return new Change(change.sqn(), change.operation(), change.key(), operand.toByteArray());
    }

    private Part exact(Subtask subtask, long end, ModelTable table) {
      return part(subtask, end, end, table);
    }

    /** Files that hold each key as it was anywhere between the position and the checkpoint. */
    private Part fuzzy(Subtask subtask, List<ModelTable> history, int position, int at) {
      int last = at;
      if (broken == Broken.APPLIED_IS_UPPER_BOUND) {
        last = Math.min(history.size() - 1, at + 1);
      }
      ModelTable files = new ModelTable();
      for (int keyGroup = subtask.keyGroups().from();
          keyGroup < subtask.keyGroups().to();
          keyGroup++) {
        for (int i = 0; i < 2; i++) {
          byte[] key = {0, (byte) keyGroup, 1, (byte) i};
          int cut = position + random.nextInt(last - position + 1);
          byte[] value = history.get(cut).rows().get(key);
          if (value != null) {
            files.apply(Operation.PUT, key, value);
          }
        }
      }
      return part(subtask, subtask.start() + position, subtask.start() + at, files);
    }

    private Part part(Subtask subtask, long position, long containedUpTo, ModelTable rows) {
      List<io.alluvium.spi.TableFile> files =
          List.of(store.store("rows", ModelTables.file(rows), random.nextBoolean()));
      return new Part(
          subtask.keyGroups(),
          Optional.of(new Materialization(ModelTables.FORMAT, position, containedUpTo, files)),
          List.of());
    }

    private List<BlockRef> blocks(List<Change> changes) {
      List<BlockRef> blocks = new ArrayList<>();
      for (int from = 0; from < changes.size(); ) {
        int to = from + 1 + random.nextInt(changes.size() - from);
        blocks.add(log.store(changes.subList(from, to)));
        from = to;
      }
      return blocks;
    }

    private CheckpointHandle handle(
        Subtask subtask, long id, long end, List<Part> parts, List<BlockRef> tail) {
      return new CheckpointHandle(
          id, subtask.keyGroups(), KEY_GROUPS, end, parts, tail, KEY, List.of());
    }

    private List<Subtask> restore(List<CheckpointHandle> handles, int generation) {
      int parallelism = 1 + random.nextInt(3);
      List<Subtask> restored = new ArrayList<>();
      for (int i = 0; i < parallelism; i++) {
        Path own = directory.resolve(name + "-" + generation + "-" + i);
        KeyGroupRange keyGroups = range(parallelism, i);
        Restored one = restorer.restore(handles, keyGroups, KEY_GROUPS, own, Optional.empty());
        long start = one.plan().startSqn();
        if (broken == Broken.STARTS_AT_LEAST_END) {
          for (CheckpointHandle handle : handles) {
            if (!handle.keyGroups().intersect(keyGroups).isEmpty()) {
              start = Math.min(start, handle.end());
            }
          }
        }
        restored.add(new Subtask(keyGroups, (ModelTable) one.table(), one.plan().parts(), start));
      }
      return restored;
    }

    private String difference(Subtask subtask) {
      for (int keyGroup = subtask.keyGroups().from();
          keyGroup < subtask.keyGroups().to();
          keyGroup++) {
        for (int i = 0; i < 2; i++) {
          byte[] key = {0, (byte) keyGroup, 1, (byte) i};
          List<Integer> expected = read(truth, key);
          List<Integer> found = read(subtask.table(), key);
          if (!found.equals(expected)) {
            return "key " + i + " of " + keyGroup + ": expected " + expected + ", found " + found;
          }
        }
      }
      return "";
    }

    private List<Integer> read(ModelTable table, byte[] key) {
      return ReplayModelTest.readList(table.rows().getOrDefault(key, new byte[0]));
    }
  }
}
