package io.alluvium.benchmarks;

import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.ListState;
import io.alluvium.state.StateDescriptor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
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
 * Measures a list state with one long list, through the public API: appends all elements one by
 * one, and reads them like a window at its end. Each invocation has its own key. Confined to the
 * benchmark's thread.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(value = 1, jvmArgsAppend = "-Xmx2g")
@Warmup(iterations = 3)
@Measurement(iterations = 5)
public class ListAppends {

  @Param({"rocksdb", "heap"})
  String table = "";

  @Param({"75000", "300000"})
  int appends;

  private final Scratch scratch = new Scratch();
  private StateBackend backend;
  private KeyedBackend<Long> keyed;
  private ListState<Long> list;
  private long lists;

  @SuppressWarnings("NullAway.Init") // set up by JMH
  public ListAppends() {}

  @Setup(Level.Trial)
  public void open() throws IOException {
    Path directory = scratch.make();
    backend =
        StateBackend.open(
            Map.of(
                "state.checkpoints.dir",
                directory.resolve("checkpoints").toUri().toString(),
                "state.backend.rocksdb.localdir",
                directory.resolve("local").toString(),
                "state.backend.type",
                table,
                "state.backend.changelog.periodic-materialize.interval",
                "0"));
    backend.catalog().takeOver("benchmark");
    keyed = backend.keyed(Serializers.int64(), 128, new KeyGroupRange(0, 128));
    list = keyed.state(StateDescriptor.list("list", Serializers.int64()));
  }

  /** Fills a list that has not been read yet. */
  @Setup(Level.Invocation)
  public void fill() {
    keyed.setCurrentKey(lists++);
    appendAll();
  }

  private void appendAll() {
    for (long i = 0; i < appends; i++) {
      list.add(i);
    }
  }

  @Benchmark
  public List<Long> get() {
    return list.get();
  }

  @Benchmark
  public void append() {
    keyed.setCurrentKey(lists++);
    appendAll();
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    backend.close();
    scratch.delete();
  }
}
