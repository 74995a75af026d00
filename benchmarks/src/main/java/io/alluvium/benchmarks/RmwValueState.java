package io.alluvium.benchmarks;

import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures a read-modify-write of a value state through the public API, on RocksDB unless another
 * table is set, like a counting operator: select a key, read the value, write the value. With the
 * changelog off, this measures only the table. With the changelog on, it includes the append, the
 * seal, the compression and the upload of segments to a local directory. No checkpoints are taken,
 * so that each mode shows its cost per record. Confined to the benchmark's thread.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(
    value = 1,
    jvmArgsAppend = {"-Xmx2g", "-XX:+UseSerialGC"})
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 2)
public class RmwValueState {

  @Param({"false", "true"})
  String changelog = "";

  @Param("rocksdb")
  String table = "";

  @Param("500000")
  int keys;

  @Param("16")
  int keyBytes;

  private final Scratch scratch = new Scratch();
  private final SplittableRandom random = new SplittableRandom(1);
  private StateBackend backend;
  private KeyedBackend<byte[]> keyed;
  private ValueState<Long> count;
  private byte[] key = new byte[0];

  @SuppressWarnings("NullAway.Init") // set up by JMH
  public RmwValueState() {}

  @Setup(Level.Trial)
  public void open() throws IOException {
    Path directory = scratch.make();
    backend =
        StateBackend.open(
            Map.of(
                "state.backend.type",
                table,
                "state.checkpoints.dir",
                directory.resolve("checkpoints").toUri().toString(),
                "state.backend.rocksdb.localdir",
                directory.resolve("local").toString(),
                "state.backend.changelog.enabled",
                changelog,
                "state.backend.changelog.periodic-materialize.interval",
                "0"));
    backend.catalog().takeOver("benchmark");
    keyed = backend.keyed(Serializers.bytes(), 128, new KeyGroupRange(0, 128));
    count = keyed.state(StateDescriptor.value("count", Serializers.int64()));
    key = new byte[keyBytes];
    for (int i = 0; i < keys; i++) {
      increment(i);
    }
  }

  @Benchmark
  public void readModifyWrite() {
    increment(random.nextInt(keys));
  }

  private void increment(int number) {
    for (int i = 0; i < Integer.BYTES; i++) {
      key[i] = (byte) (number >>> (8 * i));
    }
    keyed.setCurrentKey(key);
    Long before = count.value();
    count.update(before == null ? 1 : before + 1);
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    backend.close();
    scratch.delete();
  }
}
