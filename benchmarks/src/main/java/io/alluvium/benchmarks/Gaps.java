package io.alluvium.benchmarks;

import com.sun.management.GarbageCollectionNotificationInfo;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.Execution;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;
import org.HdrHistogram.Histogram;

/**
 * Measures pauses of the task. Runs a read-modify-write loop over a large state with checkpoints,
 * in turns with and without background materializations. Prints for both: the sync part of the
 * checkpoints (elapsed time and processor time), the gaps between two records, and the pauses of
 * the garbage collector. Between two checkpoints, it also spins for the processor time of a typical
 * sync part. The elapsed time of this spin shows the share of the machine in a sync part.
 *
 * <p>Arguments: megabytes of state, seconds of each turn, turns of each kind, milliseconds between
 * checkpoints, records per second (0: unlimited).
 */
public final class Gaps {

  private static final int VALUE_BYTES = 200;

  /** The measurements of all turns of one kind. */
  private static final class Measured {
    private final Histogram gapNanos = new Histogram(3);
    private final Histogram syncNanos = new Histogram(3);
    private final Histogram syncCpuNanos = new Histogram(3);
    private final Histogram idleNanos = new Histogram(3);
    private long materializations;
    private long records;
    private long overFiveMillis;
    private long longestGcMillis;
  }

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final PrintStream out = System.out;
  private final int keys;
  private final int seconds;
  private final long checkpointNanos;
  private final long nanosPerRecord;
  private final AtomicLong longestGcMillis = new AtomicLong();

  /** One thread for all commits; on two processors the common pool starts one per task. */
  private final Executor committer =
      Executors.newSingleThreadExecutor(Execution.threadFactory("commit"));

  private Gaps(int megabytes, int seconds, int checkpointMillis, int recordsPerSecond) {
    this.keys = (int) ((long) megabytes * (1 << 20) / VALUE_BYTES);
    this.seconds = seconds;
    this.checkpointNanos = checkpointMillis * 1_000_000L;
    this.nanosPerRecord = recordsPerSecond == 0 ? 0 : 1_000_000_000L / recordsPerSecond;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      ((NotificationEmitter) collector)
          .addNotificationListener(
              (notification, handback) -> {
                CompositeData data = (CompositeData) notification.getUserData();
                long millis =
                    GarbageCollectionNotificationInfo.from(data).getGcInfo().getDuration();
                longestGcMillis.accumulateAndGet(millis, Math::max);
              },
              null,
              null);
    }
  }

  public static void main(String[] args) throws IOException {
    if (args.length != 5) {
      System.out.println(
          "usage: Gaps MEGABYTES_OF_STATE SECONDS_OF_A_TURN TURNS"
              + " MILLISECONDS_BETWEEN_CHECKPOINTS RECORDS_PER_SECOND");
      System.exit(2);
    }
    Gaps gaps =
        new Gaps(
            Integer.parseInt(args[0]),
            Integer.parseInt(args[1]),
            Integer.parseInt(args[3]),
            Integer.parseInt(args[4]));
    // Warm-up with as many checkpoints as a job takes in hours, until their code is compiled.
    new Gaps(Integer.parseInt(args[0]), 60, 0, Integer.parseInt(args[4]))
        .turn("5s", new Measured());
    Measured off = new Measured();
    Measured on = new Measured();
    for (int turn = 0; turn < Integer.parseInt(args[2]); turn++) {
      gaps.turn("0", off);
      gaps.turn("5s", on);
    }
    gaps.print("materialization off", off);
    gaps.print("materialization on ", on);
  }

  private void turn(String interval, Measured into) throws IOException {
    Scratch scratch = new Scratch();
    Path directory = scratch.make();
    Counting metrics = new Counting();
    try (StateBackend backend =
        StateBackend.open(
            Map.of(
                "state.checkpoints.dir",
                directory.resolve("checkpoints").toUri().toString(),
                "state.backend.rocksdb.localdir",
                directory.resolve("local").toString(),
                "state.backend.changelog.periodic-materialize.interval",
                interval,
                "alluvium.restore.time-objective",
                "0"),
            metrics.components())) {
      backend.catalog().takeOver("gaps");
      KeyedBackend<Integer> keyed =
          backend.keyed(Serializers.int32(), 128, new KeyGroupRange(0, 128));
      ValueState<byte[]> state = keyed.state(StateDescriptor.value("value", Serializers.bytes()));
      for (int key = 0; key < keys; key++) {
        keyed.setCurrentKey(key);
        state.update(new byte[VALUE_BYTES]);
      }
      longestGcMillis.set(0);
      loop(backend, keyed, state, into);
      into.longestGcMillis = Math.max(into.longestGcMillis, longestGcMillis.get());
      into.materializations += metrics.count("materialization.completed.count");
    } finally {
      scratch.delete();
    }
  }

  private void loop(
      StateBackend backend, KeyedBackend<Integer> keyed, ValueState<byte[]> state, Measured into) {
    SplittableRandom random = new SplittableRandom(3);
    long end = System.nanoTime() + seconds * 1_000_000_000L;
    long nextCheckpoint = System.nanoTime();
    long nextIdle = Long.MAX_VALUE;
    long nextRecord = nextCheckpoint;
    long id = 0;
    CompletableFuture<Void> pending = CompletableFuture.completedFuture(null);
    long before = System.nanoTime();
    while (before < end) {
      keyed.setCurrentKey(random.nextInt(keys));
      byte[] value = state.value();
      if (value != null) {
        value[0]++;
        state.update(value);
      }
      if (before > nextCheckpoint && pending.isDone()) {
        nextCheckpoint = before + checkpointNanos;
        nextIdle = before + checkpointNanos / 2;
        long checkpointId = ++id;
        long startCpu = THREADS.getCurrentThreadCpuTime();
        long start = System.nanoTime();
        CompletableFuture<CheckpointHandle> handle = keyed.checkpoint(checkpointId);
        if (checkpointId > 1) { // the first checkpoint loads classes
          into.syncNanos.recordValue(System.nanoTime() - start);
          into.syncCpuNanos.recordValue(THREADS.getCurrentThreadCpuTime() - startCpu);
        }
        pending = handle.thenAcceptAsync(done -> commit(backend, keyed, done), committer);
      }
      if (before > nextIdle) {
        nextIdle = Long.MAX_VALUE;
        into.idleNanos.recordValue(idle(into.syncNanos.getValueAtPercentile(50)));
      }
      long now = System.nanoTime();
      into.gapNanos.recordValue(now - before);
      into.overFiveMillis += now - before > 5_000_000 ? 1 : 0;
      into.records++;
      before = nanosPerRecord == 0 ? now : pace(nextRecord += nanosPerRecord);
    }
    pending.join();
  }

  /** Spins for {@code nanos} of processor time, like a sync part; returns the elapsed time. */
  private static long idle(long nanos) {
    long start = System.nanoTime();
    long left = nanos;
    long before = start;
    while (left > 0) {
      long now = System.nanoTime();
      // Large steps of the clock are times without the processor.
      left -= Math.min(now - before, 1_000);
      before = now;
    }
    return before - start;
  }

  /** Sleeps if the loop is more than a millisecond ahead. This sleep does not count as a gap. */
  private static long pace(long nextRecord) {
    long ahead = nextRecord - System.nanoTime();
    if (ahead > 1_000_000) {
      LockSupport.parkNanos(ahead);
    }
    return System.nanoTime();
  }

  private static void commit(
      StateBackend backend, KeyedBackend<Integer> keyed, CheckpointHandle handle) {
    backend.catalog().commit(handle.checkpointId(), List.of(handle), new byte[0]);
    keyed.confirm(handle.checkpointId());
  }

  private void print(String name, Measured measured) {
    Histogram gap = measured.gapNanos;
    Histogram sync = measured.syncNanos;
    Histogram idle = measured.idleNanos;
    out.printf(
        Locale.ROOT,
        "%s: %,d records, %d materializations; gaps between records us: P50 %.1f P99 %.1f P99.9 %.1f"
            + " P99.99 %.1f max %.0f, %d over 5 ms; sync part of %d checkpoints us: P50 %.0f P99 %.0f"
            + " P99.9 %.0f max %.0f, on a processor P50 %.0f P99.9 %.0f; as long doing nothing us:"
            + " P50 %.0f P99 %.0f P99.9 %.0f max %.0f; longest GC pause %d ms%n",
        name,
        measured.records,
        measured.materializations,
        gap.getValueAtPercentile(50) / 1e3,
        gap.getValueAtPercentile(99) / 1e3,
        gap.getValueAtPercentile(99.9) / 1e3,
        gap.getValueAtPercentile(99.99) / 1e3,
        gap.getMaxValue() / 1e3,
        measured.overFiveMillis,
        sync.getTotalCount(),
        sync.getValueAtPercentile(50) / 1e3,
        sync.getValueAtPercentile(99) / 1e3,
        sync.getValueAtPercentile(99.9) / 1e3,
        sync.getMaxValue() / 1e3,
        measured.syncCpuNanos.getValueAtPercentile(50) / 1e3,
        measured.syncCpuNanos.getValueAtPercentile(99.9) / 1e3,
        idle.getValueAtPercentile(50) / 1e3,
        idle.getValueAtPercentile(99) / 1e3,
        idle.getValueAtPercentile(99.9) / 1e3,
        idle.getMaxValue() / 1e3,
        measured.longestGcMillis);
  }
}
