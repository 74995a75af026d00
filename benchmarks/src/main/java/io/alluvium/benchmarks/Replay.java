package io.alluvium.benchmarks;

import io.alluvium.spi.Table;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the time per change of a replay onto an empty RocksDB table, from stored blocks to an
 * open table. 1 000 ns per change are a million changes per second.
 *
 * <p>{@code putByPut} applies changes one by one, {@code batches} coalesces little and writes
 * batches, {@code ingest} works like a restore. {@code updates} has five changes per key, {@code
 * inserts} nearly one. With one thread, reading, decoding, coalescing and applying share it.
 * RocksDB's own background threads are additional in all cases.
 */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 2)
@Measurement(iterations = 7)
@Fork(1)
public class Replay {

  private static final int UPDATES = 5_000_000;
  private static final int UPDATED_KEYS = 1_000_000;
  private static final int INSERTS = 1_000_000;
  private static final int INSERTED_KEYS = 10_000_000;

  /** A stored changelog, and the table of the last invocation. */
  @State(Scope.Benchmark)
  public abstract static class Stored {

    @Param({"1", "2"})
    public int threads;

    private @Nullable StoredChangelog log;
    private @Nullable Table table;

    abstract int changes();

    abstract int keys();

    @Setup(Level.Trial)
    public void write() {
      log = StoredChangelog.write(changes(), keys(), threads);
    }

    @TearDown(Level.Invocation)
    public void closeTable() {
      Objects.requireNonNull(table).close();
      log().deleteTables();
    }

    @TearDown(Level.Trial)
    public void close() {
      log().close();
    }

    Table restore(long memoryBytes) {
      Table made = log().restore(memoryBytes);
      table = made;
      return made;
    }

    Table putByPut() {
      Table made = log().putByPut();
      table = made;
      return made;
    }

    private StoredChangelog log() {
      return Objects.requireNonNull(log);
    }
  }

  /** Five changes per key. */
  @State(Scope.Benchmark)
  public static class Updates extends Stored {
    @Override
    int changes() {
      return UPDATES;
    }

    @Override
    int keys() {
      return UPDATED_KEYS;
    }
  }

  /** Rarely two changes of one key. */
  @State(Scope.Benchmark)
  public static class Inserts extends Stored {
    @Override
    int changes() {
      return INSERTS;
    }

    @Override
    int keys() {
      return INSERTED_KEYS;
    }
  }

  @Benchmark
  @OperationsPerInvocation(UPDATES)
  public Table updates_putByPut(Updates stored) {
    return stored.putByPut();
  }

  @Benchmark
  @OperationsPerInvocation(UPDATES)
  public Table updates_batches(Updates stored) {
    return stored.restore(StoredChangelog.MEMORY_FOR_BATCHES);
  }

  @Benchmark
  @OperationsPerInvocation(UPDATES)
  public Table updates_ingest(Updates stored) {
    return stored.restore(StoredChangelog.MEMORY_FOR_INGEST);
  }

  @Benchmark
  @OperationsPerInvocation(INSERTS)
  public Table inserts_putByPut(Inserts stored) {
    return stored.putByPut();
  }

  @Benchmark
  @OperationsPerInvocation(INSERTS)
  public Table inserts_batches(Inserts stored) {
    return stored.restore(StoredChangelog.MEMORY_FOR_BATCHES);
  }

  @Benchmark
  @OperationsPerInvocation(INSERTS)
  public Table inserts_ingest(Inserts stored) {
    return stored.restore(StoredChangelog.MEMORY_FOR_INGEST);
  }
}
