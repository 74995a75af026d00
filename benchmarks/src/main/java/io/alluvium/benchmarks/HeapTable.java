package io.alluvium.benchmarks;

import io.alluvium.KeyGroupRange;
import io.alluvium.config.Configuration;
import io.alluvium.internal.heap.HeapTableProvider;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Table;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures single-key access to a heap table: keys of 16 bytes in random order over 128 key groups,
 * values of 16 bytes. Run with {@code -prof gc} for the bytes allocated per operation.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "-Xmx2g")
public class HeapTable {

  private static final int KEY_GROUPS = 128;
  private static final int STATE_ID = 0x09ffbb80;
  private static final int VALUE_BYTES = 16;

  @Param({"10000", "1000000"})
  private int rows;

  private final ByteWriter key = new ByteWriter();
  private final ByteWriter into = new ByteWriter();
  private final byte[] value = new byte[VALUE_BYTES];
  private final byte[] operand = new byte[VALUE_BYTES];
  private Table table = open();
  private long seed;

  private static Table open() {
    HeapTableProvider provider = new HeapTableProvider();
    return provider
        .open(Configuration.of(Map.of(), provider.options()), new DeferredExecution(), Metrics.NONE)
        .open(
            Path.of("unused"),
            new KeyGroupRange(0, KEY_GROUPS),
            List.of(),
            part -> {
              throw new IllegalStateException("nothing is restored");
            });
  }

  @Setup
  public void fill() {
    table = open();
    for (int row = 0; row < rows; row++) {
      select(row);
      table.put(key.array(), key.length(), value, VALUE_BYTES);
    }
    new Random(1).nextBytes(operand);
  }

  private void select(int row) {
    key.clear();
    KeyLayout.writeState(key, row % KEY_GROUPS, STATE_ID);
    key.writeVarInt(Long.BYTES * 2);
    key.writeLong(row * 0x9e3779b97f4a7c15L);
    key.writeLong(row);
    key.writeVarInt(0);
  }

  private void selectAny() {
    seed = seed * 6364136223846793005L + 1442695040888963407L;
    select((int) ((seed >>> 33) % rows));
  }

  @Benchmark
  public boolean get() {
    selectAny();
    return table.get(key.array(), key.length(), into);
  }

  @Benchmark
  public void put() {
    selectAny();
    table.put(key.array(), key.length(), value, VALUE_BYTES);
  }

  @Benchmark
  public void readModifyWrite() {
    selectAny();
    if (table.get(key.array(), key.length(), into)) {
      into.array()[0]++;
    }
    table.put(key.array(), key.length(), into.array(), VALUE_BYTES);
  }

  /** Values of changing size, so that each put allocates an entry. */
  @Benchmark
  public void putOfAnotherSize() {
    selectAny();
    table.put(key.array(), key.length(), operand, (int) (seed >>> 60) + 1);
  }
}
