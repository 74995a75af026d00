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
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Appends one change of 16 + 16 bytes to the changelog. Includes the sealing of full blocks, but
 * not their background work. Run with {@code -prof gc} for the bytes allocated per change.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class ChangelogAppend {

  /** About ten blocks of 256 KB. */
  private static final int CHANGES = 65_536;

  private static final int KEYS = 1024;

  private final byte[][] keys = new byte[KEYS][16];
  private final byte[] value = new byte[16];
  private BenchmarkLog log = new BenchmarkLog(Map.of());

  @Setup
  public void keys() {
    Random random = new Random(1);
    for (byte[] key : keys) {
      random.nextBytes(key);
      key[0] = 0;
      key[1] = (byte) random.nextInt(BenchmarkLog.KEY_GROUPS);
    }
    log = new BenchmarkLog(Map.of());
  }

  /** Not measured. Invocations take milliseconds, so that the setup does not distort them. */
  @Setup(Level.Invocation)
  public void drain() {
    log.drain();
  }

  @Benchmark
  @OperationsPerInvocation(CHANGES)
  public long append() {
    for (int i = 0; i < CHANGES; i++) {
      log.changelog.awaitRoom();
      log.changelog.append(Operation.PUT, keys[i & (KEYS - 1)], 16, value, 16);
    }
    return log.changelog.nextSqn();
  }
}
