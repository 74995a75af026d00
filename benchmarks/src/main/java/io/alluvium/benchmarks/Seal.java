package io.alluvium.benchmarks;

import io.alluvium.spi.Operation;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
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
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the background work for sealed blocks on one thread: partition by key group, compress,
 * checksum, assemble a segment. The score is bytes of keys and values per microsecond, which is
 * MB/s.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class Seal {

  /** Bytes of keys and values; about four blocks. */
  private static final int BYTES = 1 << 20;

  private static final int KEYS = 1024;

  @Param({"false", "true"})
  String compression = "false";

  /** Bytes per value; keys have 16 bytes. */
  @Param({"16", "240"})
  int valueBytes;

  private final byte[][] keys = new byte[KEYS][16];
  private byte[][] values = new byte[0][];
  private BenchmarkLog log = new BenchmarkLog(Map.of());

  @Setup
  public void changes() {
    Random random = new Random(1);
    values = new byte[KEYS][valueBytes];
    for (int i = 0; i < KEYS; i++) {
      random.nextBytes(keys[i]);
      keys[i][0] = 0;
      keys[i][1] = (byte) random.nextInt(BenchmarkLog.KEY_GROUPS);
      // Half of each value is random, the other half is constant.
      random.nextBytes(values[i]);
      for (int at = valueBytes / 2; at < valueBytes; at++) {
        values[i][at] = (byte) (at % 16);
      }
    }
    log = new BenchmarkLog(Map.of("dstl.dfs.compression.enabled", compression));
  }

  /** Not measured. */
  @Setup(Level.Invocation)
  public void append() {
    log.drain();
    int size = 16 + valueBytes;
    for (int i = 0; i < BYTES / size; i++) {
      int key = i & (KEYS - 1);
      log.changelog.awaitRoom();
      log.changelog.append(Operation.PUT, keys[key], 16, values[key], valueBytes);
    }
  }

  @Benchmark
  @OperationsPerInvocation(BYTES)
  public Object encode() {
    Object future = log.changelog.persist(log.changelog.durableUpTo());
    log.execution.runTasks();
    return future;
  }
}
