package io.alluvium.suite;

import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.ListState;
import io.alluvium.state.MapState;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.TimerQueue;
import io.alluvium.state.ValueState;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A program of its own, because what it looks for kills the JVM: a process is closed by its main
 * thread while its tasks are inside their tables. Arguments: type of the table, scenario, rounds,
 * seed, directory. Its last line is {@value #DONE}.
 */
public final class CloseRounds {

  static final String DONE = "every task was told CLOSED";

  private static final int KEY_GROUPS = 128;
  private static final int SUBTASKS = 2;

  private CloseRounds() {}

  /** What the tasks do until they are closed. */
  enum Scenario {
    /** Everything that a state offers. */
    WORK,
    /** Subtask 1 writes until its local disk takes no more. */
    FULL_DISK,
    /** The thread that closes was interrupted before. */
    INTERRUPTED
  }

  public static void main(String[] args) throws Exception {
    Scenario scenario = Scenario.valueOf(args[1]);
    Random random = new Random(Long.parseLong(args[3]));
    for (int round = 0; round < Integer.parseInt(args[2]); round++) {
      run(args[0], scenario, random, Path.of(args[4]).resolve("round-" + round));
    }
    System.out.println(DONE);
  }

  private static void run(String table, Scenario scenario, Random random, Path directory)
      throws Exception {
    List<Task> tasks = new ArrayList<>();
    try (StateBackend backend =
        StateBackend.open(
            Map.of(
                "state.backend.type",
                table,
                "state.checkpoints.dir",
                directory.resolve("checkpoints").toUri().toString(),
                "state.backend.rocksdb.localdir",
                directory.resolve("local").toString(),
                "state.backend.changelog.periodic-materialize.interval",
                "20 ms"))) {
      backend.catalog().takeOver("job");
      for (int i = 0; i < SUBTASKS; i++) {
        KeyGroupRange range = KeyGroupRange.ofSubtask(KEY_GROUPS, SUBTASKS, i);
        Task task =
            new Task(
                backend.keyed(Serializers.string(), KEY_GROUPS, range),
                new Random(random.nextLong()),
                scenario == Scenario.FULL_DISK);
        tasks.add(task);
        task.start();
      }
      for (Task task : tasks) {
        if (!task.atWork.await(2, TimeUnit.MINUTES)) {
          throw new IllegalStateException("a task does not get on: " + task.ended);
        }
      }
      if (scenario == Scenario.FULL_DISK) {
        refuseLargeFiles();
        Throwable failure = tasks.get(1).ended.get(2, TimeUnit.MINUTES);
        System.out.println("subtask 1 failed: " + failure);
        if (!(failure instanceof StateBackendException known) || known.kind() == Kind.CLOSED) {
          throw new IllegalStateException("the disk did not refuse anything", failure);
        }
        tasks.remove(1);
      }
      // The moment is drawn; whatever it is, nothing may break.
      Thread.sleep(0, random.nextInt(1_000_000));
      if (scenario == Scenario.INTERRUPTED) {
        Thread.currentThread().interrupt();
      }
    } catch (StateBackendException e) {
      if (scenario != Scenario.INTERRUPTED || e.kind() != Kind.UNAVAILABLE) {
        throw e;
      }
    }
    boolean unused = Thread.interrupted();
    for (Task task : tasks) {
      Throwable failure = task.ended.get(2, TimeUnit.MINUTES);
      if (!(failure instanceof StateBackendException known) || known.kind() != Kind.CLOSED) {
        throw new IllegalStateException("a task was not told CLOSED", failure);
      }
    }
  }

  /** From now on the system refuses what this process writes to a file beyond 16 MB. */
  private static void refuseLargeFiles() throws Exception {
    int status =
        new ProcessBuilder(
                "prlimit",
                "--pid",
                String.valueOf(ProcessHandle.current().pid()),
                "--fsize=16777216")
            .inheritIO()
            .start()
            .waitFor();
    if (status != 0) {
      throw new IllegalStateException("prlimit ended with status " + status);
    }
  }

  /** One subtask: works until a call fails. */
  private static final class Task extends Thread {
    private final KeyedBackend<String> keyed;
    private final Random random;
    private final boolean small;
    private final CountDownLatch atWork = new CountDownLatch(100);
    private final CompletableFuture<Throwable> ended = new CompletableFuture<>();
    private final List<Iterator<?>> dropped = new ArrayList<>();
    private final ValueState<Long> value;
    private final ValueState<byte[]> large;
    private final ListState<Long> list;
    private final MapState<Integer, String> map;
    private final TimerQueue<String, Long> timers;
    private long checkpointId;

    Task(KeyedBackend<String> keyed, Random random, boolean fullDisk) {
      this.keyed = keyed;
      this.random = random;
      this.small = fullDisk;
      value = keyed.state(StateDescriptor.value("value", Serializers.int64()));
      large = keyed.state(StateDescriptor.value("large", Serializers.bytes()));
      list = keyed.state(StateDescriptor.list("list", Serializers.int64()));
      map = keyed.state(StateDescriptor.map("map", Serializers.int32(), Serializers.string()));
      timers = keyed.timers("timers", Serializers.int64());
      setDaemon(true);
    }

    @Override
    public void run() {
      try {
        for (long i = 0; ; i++) {
          String key = "k" + i % 5_000;
          if (!keyed.keyGroups().contains(keyed.keyGroupOf(key))) {
            continue;
          }
          keyed.setCurrentKey(key);
          Long before = value.value();
          value.update(before == null ? 1 : before + 1);
          if (small && keyed.keyGroups().from() > 0) {
            byte[] incompressible = new byte[100_000];
            random.nextBytes(incompressible);
            large.update(incompressible);
          } else if (!small) {
            step(i);
          }
          atWork.countDown();
        }
      } catch (RuntimeException | Error e) {
        ended.complete(e);
      }
    }

    private void step(long i) {
      switch (random.nextInt(12)) {
        case 0 -> list.add(i);
        case 1 -> {
          if (list.get().size() > 10) {
            list.clear();
          }
        }
        case 2 -> timers.register(i, random.nextInt(1_000));
        case 3 -> timers.poll();
        case 4 -> fill();
        case 5 -> look();
        case 6 -> map.clear();
        case 7 -> keys();
        case 8 -> {
          if (random.nextInt(20) == 0) {
            var unused = keyed.checkpoint(++checkpointId);
          }
        }
        default -> value.value();
      }
    }

    private void fill() {
      for (int i = 0; i < 80; i++) {
        map.put(i, "value " + i);
      }
    }

    /** Leaves some iterators half-way. */
    private void look() {
      Iterator<Map.Entry<Integer, String>> entries = map.iterator();
      for (int i = random.nextInt(100); i > 0 && entries.hasNext(); i--) {
        entries.next();
      }
      if (dropped.size() < 10) {
        dropped.add(entries);
      } else {
        boolean unused = dropped.get(random.nextInt(10)).hasNext();
        dropped.remove(random.nextInt(10));
      }
    }

    private void keys() {
      try (Stream<String> keys = keyed.keys(value)) {
        @Nullable String unused = keys.skip(random.nextInt(20)).findFirst().orElse(null);
      }
    }
  }
}
