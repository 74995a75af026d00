package io.alluvium.testkit.sim;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.remote.GuardedBlobStore;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.RequestListener;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.sim.SimulatedBlobStore.Network;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Hedged requests (L5), over a network that refuses requests, loses answers, is slow, and may
 * deliver cancelled requests at any later time.
 */
final class HedgingTest {

  private static final Network TROUBLED = new Network(0.05, 0.1, 0.1, 0.3, 0.02);
  private static final int SEEDS_PER_TEST = 25;
  private static final int SLOTS = 5;
  private static final int PROCESSES = 3;

  static Stream<Long> batches() {
    return Seeds.of(12);
  }

  @ParameterizedTest
  @MethodSource("batches")
  void anyOrder_everySlot_hasOneWinner(long batch) {
    for (long seed = batch * SEEDS_PER_TEST; seed < (batch + 1) * SEEDS_PER_TEST; seed++) {
      try (Simulation simulation = Simulation.ofSeed(seed)) {
        Contest contest = new Contest(simulation);
        simulation.run();
        contest.check();
        simulation.settle();
        // Cancelled requests have arrived now.
        contest.check();
      } catch (AssertionError e) {
        throw new AssertionError("seed " + seed + " (-Dseed=" + batch + "): " + e.getMessage(), e);
      }
    }
  }

  /** Processes that put their own blobs and compete for slots. Used by the actor with the turn. */
  private static final class Contest {
    private final MapBlobStore blobs = new MapBlobStore();
    private final Map<String, String> winners = new HashMap<>();
    private final Set<String> puts = new HashSet<>();

    private Contest(Simulation simulation) {
      for (int i = 0; i < PROCESSES; i++) {
        SimulatedProcess process = simulation.process("P" + i);
        BlobStore store = guarded(process, process.store(blobs, TROUBLED), 1);
        process.spawn("data", () -> putBlobs(process, store));
        process.spawn("slots", () -> putSlots(process, store));
      }
    }

    private void putBlobs(SimulatedProcess process, BlobStore store) {
      for (int i = 0; i < SLOTS; i++) {
        String name = "data/" + process.name() + "/" + i;
        ByteBuffer content = ByteBuffer.wrap(("bytes of " + name).getBytes(UTF_8));
        repeat(
            () -> {
              store.put(name, List.of(content));
              return true;
            });
        puts.add(name);
        // A put must not read its buffers after it has returned.
        Arrays.fill(content.array(), (byte) 'x');
      }
    }

    private void putSlots(SimulatedProcess process, BlobStore store) {
      for (int i = 0; i < SLOTS; i++) {
        String name = "slots/" + i;
        byte[] content = process.name().getBytes(UTF_8);
        AtomicInteger calls = new AtomicInteger();
        boolean won =
            repeat(
                () -> {
                  calls.incrementAndGet();
                  return store.putIfAbsent(name, content);
                });
        byte[] stored = blobs.content().get(name);
        assertThat(stored).as(name).isNotNull();
        // A failed call may have taken effect; the result of a successful call is exact.
        boolean ours = Arrays.equals(stored, content);
        assertThat(won || (ours && calls.get() > 1))
            .as("%s of %s", name, process.name())
            .isEqualTo(ours);
        if (won) {
          assertThat(winners.put(name, process.name())).as("winner of %s before", name).isNull();
        }
      }
    }

    private static boolean repeat(BooleanSupplier call) {
      while (true) {
        try {
          return call.getAsBoolean();
        } catch (StateBackendException e) {
          assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE);
        }
      }
    }

    private void check() {
      for (String name : puts) {
        assertThat(blobs.content().get(name)).asString(UTF_8).isEqualTo("bytes of " + name);
      }
      winners.forEach(
          (slot, winner) ->
              assertThat(blobs.content().get(slot)).asString(UTF_8).isEqualTo(winner));
    }
  }

  private static BlobStore guarded(SimulatedProcess process, BlobStore store, double share) {
    return GuardedBlobStore.over(
        store,
        new GuardedBlobStore.Context(process.execution(), share, Metrics.NONE),
        RequestListener.NONE);
  }

  /** Latencies of 3 000 puts, and the number of requests. */
  private record Measured(List<Long> micros, int requests, Sums metrics) {
    long p999() {
      return micros.get(micros.size() * 999 / 1000);
    }
  }

  private static final int PUTS = 3_000;

  private static Measured measure(Network network, double share) {
    List<Long> micros = new ArrayList<>();
    AtomicInteger requests = new AtomicInteger();
    Sums metrics = new Sums();
    try (Simulation simulation = new Simulation(new RandomFaults())) {
      simulation.limitSteps(10_000_000);
      SimulatedProcess process = simulation.process("P");
      BlobStore store =
          GuardedBlobStore.over(
              process.store(new MapBlobStore(), network),
              new GuardedBlobStore.Context(process.execution(), share, metrics),
              new RequestListener() {
                @Override
                public void requested(Verb verb, String name, long bytes) {
                  requests.incrementAndGet();
                }

                @Override
                public void throttled() {}
              });
      process.spawn(
          "main",
          () -> {
            for (int i = 0; i < PUTS; i++) {
              String name = "data/" + i;
              long start = process.execution().nanoTime();
              boolean unused =
                  Contest.repeat(
                      () -> {
                        store.put(name, List.of(ByteBuffer.allocate(10)));
                        return true;
                      });
              micros.add((process.execution().nanoTime() - start) / 1_000);
            }
          });
      simulation.run();
    }
    micros.sort(null);
    return new Measured(micros, requests.get(), metrics);
  }

  @Test
  void put_onePercentSlow_isHedgedWithinTheBudget() {
    // One of a hundred requests takes 2 s.
    Measured measured = measure(new Network(0, 0, 0, 0.01, 0), 0.03);
    assertThat(measured.p999()).isLessThan(Duration.ofMillis(100).toNanos() / 1_000);
    assertThat(measured.requests)
        .isGreaterThan(PUTS)
        .isLessThanOrEqualTo(PUTS + PUTS * 3 / 100 + 10);
    assertThat(measured.metrics.sum("store.hedge.count")).isEqualTo(measured.requests - PUTS);
    assertThat(measured.metrics.sum("store.hedge.decisive.count")).isPositive();
  }

  @Test
  void put_slowWithoutBudget_isNotHedged() {
    Measured measured = measure(new Network(0, 0, 0, 0.01, 0), 0);
    assertThat(measured.p999()).isGreaterThan(Duration.ofSeconds(2).toNanos() / 1_000);
    assertThat(measured.requests).isEqualTo(PUTS);
  }

  @Test
  void put_mostlySlow_isRarelyHedged() {
    Measured measured = measure(new Network(0, 0, 0, 0.3, 0), 0.03);
    assertThat(measured.metrics.sum("store.hedge.count")).isBetween(1L, 30L);
  }

  @Test
  void put_slowStoreThatThrottles_isNotHedged() {
    // Throttling responses come more often than once a minute, from the first put.
    Measured measured = measure(new Network(0, 0, 0, 0.01, 0.5), 0.03);
    assertThat(measured.metrics.sum("store.hedge.count")).isZero();
  }

  @Test
  void put_otherStoreThrottles_isNotHedged() {
    Sums metrics = new Sums();
    try (Simulation simulation = new Simulation(new RandomFaults())) {
      SimulatedProcess process = simulation.process("P");
      List<BlobStore> stores =
          GuardedBlobStore.over(
              List.of(
                  process.store(new MapBlobStore(), new Network(0, 0, 0, 0, 1)),
                  process.store(new MapBlobStore(), new Network(0, 0, 0, 1, 0))),
              new GuardedBlobStore.Context(process.execution(), 1, metrics),
              RequestListener.NONE);
      process.spawn(
          "main",
          () -> {
            assertThatThrownBy(() -> stores.get(0).put("data/a", List.of(ByteBuffer.allocate(1))))
                .isInstanceOf(StateBackendException.class);
            stores.get(1).put("data/b", List.of(ByteBuffer.allocate(1)));
            assertThat(metrics.sum("store.hedge.count")).isZero();
            process.execution().sleep(Duration.ofMinutes(1));
            stores.get(1).put("data/c", List.of(ByteBuffer.allocate(1)));
            assertThat(metrics.sum("store.hedge.count")).isEqualTo(1);
          });
      simulation.run();
    }
  }

  /** Sums of counters. Used by the actor with the turn. */
  private static final class Sums implements Metrics {
    private final Map<String, Long> sums = new HashMap<>();

    private long sum(String name) {
      return sums.getOrDefault(name, 0L);
    }

    @Override
    public Counter counter(String name) {
      return delta -> sums.merge(name, delta, Long::sum);
    }

    @Override
    public Histogram histogram(String name) {
      return value -> {};
    }

    @Override
    public void gauge(String name, LongSupplier value) {}
  }

  /** The default order with random faults. */
  private static final class RandomFaults implements Choices {
    private final InOrder order = new InOrder();
    private final Random random = new Random(1);

    @Override
    public int next(List<String> candidates, int current) {
      return order.next(candidates, current);
    }

    @Override
    public boolean fault(double probability) {
      return random.nextDouble() < probability;
    }

    @Override
    public int choose(int bound) {
      return random.nextInt(bound);
    }

    @Override
    public long seed() {
      return 1;
    }
  }
}
