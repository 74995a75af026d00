package io.alluvium.benchmarks;

import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.benchmarks.TrafficLog.Rate;
import io.alluvium.config.Configuration;
import io.alluvium.internal.blob.BlobStores;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

/**
 * Measures how even the load on the store is. Eight backends have a fixed rate of updates. Their
 * plain incremental checkpoints, which all store at the same time, are compared with the changelog.
 * There materializations run at randomized times, without and with smoothing. Prints bytes and
 * requests per second, peak and average, over whole seconds.
 *
 * <p>Arguments: megabytes of state, updates per second, seconds of the long interval, number of
 * measured long intervals (after two for warm-up), kinds to run (plain, often, bursts, smoothed;
 * default: all). The plain kind takes a checkpoint each long interval. The others take one each
 * second and a materialization each long interval, as in the published comparison. {@code
 * -Dalluvium.series=FILE} writes each second as a line of CSV.
 */
public final class Smoothing {

  private static final int BACKENDS = 8;
  private static final int GROUPS = 128;
  private static final int VALUE_BYTES = 200;

  private final PrintStream out = System.out;
  private final int keys;
  private final int updatesPerSecond;
  private final int interval;
  private final int intervals;

  private Smoothing(int megabytes, int updatesPerSecond, int interval, int intervals) {
    this.keys = (int) ((long) megabytes * (1 << 20) / VALUE_BYTES);
    this.updatesPerSecond = updatesPerSecond;
    this.interval = interval;
    this.intervals = intervals;
  }

  public static void main(String[] args) throws IOException {
    if (args.length < 4) {
      System.out.println(
          "usage: Smoothing MEGABYTES UPDATES_PER_SECOND INTERVAL_SECONDS INTERVALS [KIND...]");
      System.exit(2);
    }
    Smoothing smoothing =
        new Smoothing(
            Integer.parseInt(args[0]),
            Integer.parseInt(args[1]),
            Integer.parseInt(args[2]),
            Integer.parseInt(args[3]));
    smoothing.head();
    String every = args[2] + "s";
    String periodic = "state.backend.changelog.periodic-materialize.interval";
    String on = "state.backend.changelog.enabled";
    String smooth = "alluvium.materialize.smoothing";
    Set<String> kinds =
        args.length == 4
            ? Set.of("plain", "often", "bursts", "smoothed")
            : Set.copyOf(Arrays.asList(args).subList(4, args.length));
    if (kinds.contains("plain")) {
      smoothing.turn("plain, every " + every, smoothing.interval, Map.of(on, "false"));
    }
    if (kinds.contains("often")) {
      smoothing.turn("plain, every 1s", 1, Map.of(on, "false"));
    }
    if (kinds.contains("bursts")) {
      smoothing.turn("changelog, bursts", 1, Map.of(on, "true", periodic, every, smooth, "false"));
    }
    if (kinds.contains("smoothed")) {
      smoothing.turn("changelog, smoothed", 1, Map.of(on, "true", periodic, every, smooth, "true"));
    }
  }

  private void head() {
    out.printf(
        Locale.ROOT,
        "%d backends, %d keys of %d bytes, %d updates/s; per second over %d x %d s%n%n",
        BACKENDS,
        keys,
        VALUE_BYTES,
        updatesPerSecond,
        intervals,
        interval);
    out.println(
        "| kind | MB/s peak | average | ratio | tables' MB/s peak | average | ratio | requests/s peak | average | ratio |");
    out.println("|---|---|---|---|---|---|---|---|---|---|");
  }

  private void turn(String kind, int checkpointSeconds, Map<String, String> more)
      throws IOException {
    Scratch scratch = new Scratch();
    Path directory = scratch.make();
    Map<String, String> settings = new HashMap<>(more);
    String checkpoints = directory.resolve("checkpoints").toUri().toString();
    settings.put("state.checkpoints.dir", checkpoints);
    settings.put("state.backend.rocksdb.localdir", directory.resolve("local").toString());
    settings.put("alluvium.restore.time-objective", "0");
    TrafficLog log = new TrafficLog();
    try (MeteredStore store =
            new MeteredStore(
                BlobStores.open(checkpoints, Configuration.of(settings, StateBackend.options())),
                log);
        StateBackend backend =
            StateBackend.open(settings, Components.defaults().withStore(store))) {
      backend.catalog().takeOver("smoothing");
      Tasks tasks = new Tasks(backend);
      for (int key = 0; key < keys; key++) {
        tasks.update(key);
      }
      // The first uploads are whole tables, and the second ones use them as their estimate.
      int from = run(backend, tasks, checkpointSeconds, 2, log);
      int to = run(backend, tasks, checkpointSeconds, intervals, log);
      tasks.pending.join();
      write(kind, log, from, to);
      print(kind, log.bytes(from, to), log.tables(from, to), log.requests(from, to));
    } finally {
      scratch.delete();
    }
  }

  /** The backends and their states. Confined to one thread. */
  private static final class Tasks {
    private final List<KeyedBackend<Integer>> backends = new ArrayList<>();
    private final List<ValueState<byte[]>> states = new ArrayList<>();
    private final SplittableRandom random = new SplittableRandom(7);
    private CompletableFuture<Void> pending = CompletableFuture.completedFuture(null);
    private long checkpoint;

    private Tasks(StateBackend backend) {
      for (int i = 0; i < BACKENDS; i++) {
        KeyedBackend<Integer> keyed =
            backend.keyed(
                Serializers.int32(), GROUPS, KeyGroupRange.ofSubtask(GROUPS, BACKENDS, i));
        backends.add(keyed);
        states.add(keyed.state(StateDescriptor.value("value", Serializers.bytes())));
      }
    }

    private void update(int key) {
      int group = backends.get(0).keyGroupOf(key);
      int task = KeyGroupRange.subtaskOf(group, GROUPS, BACKENDS);
      backends.get(task).setCurrentKey(key);
      byte[] value = new byte[VALUE_BYTES];
      // Incompressible.
      random.nextBytes(value);
      states.get(task).update(value);
    }

    /** Starts a checkpoint of all backends, unless the previous one is still running. */
    private void checkpoint(StateBackend backend) {
      if (!pending.isDone()) {
        return;
      }
      long id = ++checkpoint;
      List<CompletableFuture<CheckpointHandle>> handles =
          backends.stream().map(keyed -> keyed.checkpoint(id)).toList();
      pending =
          CompletableFuture.allOf(handles.toArray(CompletableFuture<?>[]::new))
              .thenRunAsync(
                  () -> {
                    backend
                        .catalog()
                        .commit(
                            id,
                            handles.stream().map(CompletableFuture::join).toList(),
                            new byte[0]);
                    backends.forEach(keyed -> keyed.confirm(id));
                  });
    }
  }

  /** Updates and takes checkpoints for some long intervals; returns the last second of the log. */
  private int run(
      StateBackend backend, Tasks tasks, int checkpointSeconds, int howMany, TrafficLog log) {
    long start = System.nanoTime();
    long end = start + (long) interval * howMany * 1_000_000_000L;
    long nextCheckpoint = start + checkpointSeconds * 1_000_000_000L;
    long updates = 0;
    for (long now = start; now < end; now = System.nanoTime()) {
      long due = (now - start) / 1_000_000 * updatesPerSecond / 1_000;
      if (updates >= due) {
        LockSupport.parkNanos(1_000_000);
      }
      while (updates < due) {
        tasks.update(tasks.random.nextInt(keys));
        updates++;
      }
      if (now >= nextCheckpoint) {
        nextCheckpoint += checkpointSeconds * 1_000_000_000L;
        tasks.checkpoint(backend);
      }
    }
    return log.second();
  }

  /** Writes each second for a plot: kind, second, bytes of tables, other bytes, requests. */
  private static void write(String kind, TrafficLog log, int from, int to) throws IOException {
    String file = System.getProperty("alluvium.series");
    if (file != null) {
      Files.write(
          Path.of(file),
          log.lines(kind, from, to),
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    }
  }

  private void print(String kind, Rate bytes, Rate tables, Rate requests) {
    out.printf(
        Locale.ROOT,
        "| %s | %.1f | %.2f | %.1f | %.1f | %.2f | %.1f | %.0f | %.2f | %.1f |%n",
        kind,
        bytes.peak() / 1e6,
        bytes.average() / 1e6,
        bytes.ratio(),
        tables.peak() / 1e6,
        tables.average() / 1e6,
        tables.ratio(),
        requests.peak(),
        requests.average(),
        requests.ratio());
  }
}
