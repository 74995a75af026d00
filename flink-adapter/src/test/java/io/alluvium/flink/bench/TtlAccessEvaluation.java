package io.alluvium.flink.bench;

import io.alluvium.flink.AlluviumStateBackend;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.CheckpointableKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;

/**
 * What Flink's default time to live costs a read and a write of one key: two backends of a kind,
 * with and without, in short turns, so that a busy machine hits both. Confined to one thread.
 */
final class TtlAccessEvaluation {

  private static final int GROUPS = 64;
  private static final int OPERATIONS = 10_000;

  /** As much as a slot of the other benchmarks has. */
  private static final long MANAGED_BYTES = 128L << 20;

  private TtlAccessEvaluation() {}

  /** Takes {@code KEYS PAIRS}: pairs of turns. */
  public static void main(String[] args) throws Exception {
    if (args.length != 2) {
      System.err.println("usage: TtlAccessEvaluation KEYS PAIRS");
      System.exit(2);
    }
    run(Integer.parseInt(args[0]), Integer.parseInt(args[1]), System.out);
    System.exit(0);
  }

  static void run(int keys, int pairs, PrintStream out) throws Exception {
    for (String shape : List.of("value", "map")) {
      compare("Flink rocksdb", new EmbeddedRocksDBStateBackend(), shape, keys, pairs, out);
      compare("Alluvium", new AlluviumStateBackend(), shape, keys, pairs, out);
    }
  }

  private static void compare(
      String title, AbstractStateBackend kind, String shape, int keys, int pairs, PrintStream out)
      throws Exception {
    try (Subject without = new Subject(kind, StateTtlConfig.DISABLED);
        Subject with = new Subject(kind, StateTtlConfig.newBuilder(Duration.ofHours(1)).build())) {
      boolean map = shape.equals("map");
      double[] ratios = new double[pairs];
      double[] micros = new double[pairs];
      for (int pair = -pairs / 4; pair < pairs; pair++) {
        // Who comes first changes, since a turn may leave work for the background.
        boolean first = pair % 2 == 0;
        double one = first ? without.turn(map, keys, pair) : with.turn(map, keys, pair);
        double other = first ? with.turn(map, keys, pair) : without.turn(map, keys, pair);
        if (pair >= 0) {
          micros[pair] = first ? other : one;
          ratios[pair] = (first ? one : other) / micros[pair];
        }
      }
      Arrays.sort(ratios);
      Arrays.sort(micros);
      out.printf(
          Locale.ROOT,
          "%-14s %-6s with TTL %6.2f us per read and write, speed %.2f of without (quartiles %.2f to"
              + " %.2f)%n",
          title,
          shape,
          micros[pairs / 2],
          ratios[pairs / 2],
          ratios[pairs / 4],
          ratios[pairs * 3 / 4]);
    }
  }

  /** A backend and its states. */
  private static final class Subject implements AutoCloseable {
    private final MockEnvironment environment =
        new MockEnvironmentBuilder().setManagedMemorySize(MANAGED_BYTES).build();
    private final CheckpointableKeyedStateBackend<Long> backend;
    private final ValueState<Long> value;
    private final MapState<Long, Long> map;

    Subject(AbstractStateBackend kind, StateTtlConfig ttl) throws Exception {
      backend =
          kind.createKeyedStateBackend(
              new KeyedStateBackendParametersImpl<>(
                  environment,
                  new JobID(),
                  "operator",
                  LongSerializer.INSTANCE,
                  GROUPS,
                  KeyGroupRange.of(0, GROUPS - 1),
                  environment.getTaskKvStateRegistry(),
                  TtlTimeProvider.DEFAULT,
                  new UnregisteredMetricsGroup(),
                  List.of(),
                  new CloseableRegistry()));
      ValueStateDescriptor<Long> values =
          new ValueStateDescriptor<>("value", LongSerializer.INSTANCE);
      MapStateDescriptor<Long, Long> maps =
          new MapStateDescriptor<>("map", LongSerializer.INSTANCE, LongSerializer.INSTANCE);
      if (ttl.isEnabled()) {
        values.enableTimeToLive(ttl);
        maps.enableTimeToLive(ttl);
      }
      value =
          backend.getPartitionedState(
              VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, values);
      map =
          backend.getPartitionedState(
              VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, maps);
    }

    /** Microseconds for each operation. */
    double turn(boolean ofMap, int keys, long seed) throws Exception {
      Random random = new Random(seed);
      long start = System.nanoTime();
      for (int i = 0; i < OPERATIONS; i++) {
        backend.setCurrentKey((long) random.nextInt(keys));
        if (ofMap) {
          long entry = i & 15;
          Long before = map.get(entry);
          map.put(entry, before == null ? 1 : before + 1);
        } else {
          Long before = value.value();
          value.update(before == null ? 1 : before + 1);
        }
      }
      return (System.nanoTime() - start) / 1e3 / OPERATIONS;
    }

    @Override
    public void close() {
      try {
        backend.close();
        backend.dispose();
        environment.close();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }
}
