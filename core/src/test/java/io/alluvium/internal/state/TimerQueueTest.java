package io.alluvium.internal.state;

import static io.alluvium.internal.state.Texts.NUMBER;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.state.Timer;
import io.alluvium.state.TimerQueue;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.NavigableSet;
import java.util.Random;
import java.util.TreeSet;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class TimerQueueTest {

  private final Bench bench = new Bench();
  private final TimerQueue<String, Integer> timers = bench.registry.timers("t", NUMBER);

  @Test
  void poll_givesTimersOfAllKeysInOrderOfTime_andKeepsTheCurrentKey() {
    bench.key("b");
    timers.register(1, 20);
    timers.register(1, -5);
    bench.key("a");
    timers.register(2, 10);
    timers.register(2, Long.MAX_VALUE);
    timers.register(2, Long.MIN_VALUE);
    List<Timer<String, Integer>> polled = new ArrayList<>();
    for (Timer<String, Integer> timer = timers.poll(); timer != null; timer = timers.poll()) {
      polled.add(timer);
    }
    assertThat(polled)
        .containsExactly(
            new Timer<>(Long.MIN_VALUE, "a", 2),
            new Timer<>(-5, "b", 1),
            new Timer<>(10, "a", 2),
            new Timer<>(20, "b", 1),
            new Timer<>(Long.MAX_VALUE, "a", 2));
    assertThat(bench.keys.currentKey()).isEqualTo("a");
    assertThat(timers.isEmpty()).isTrue();
    assertThat(timers.peek()).isNull();
    assertThat(bench.table.rows).isEmpty();
  }

  @Test
  void register_again_changesNothing() {
    bench.key("a");
    timers.register(1, 5);
    timers.register(1, 5);
    assertThat(bench.changelog.changes).hasSize(1);
    assertThat(timers.poll()).isEqualTo(new Timer<>(5, "a", 1));
    assertThat(timers.poll()).isNull();
  }

  @Test
  void delete_ofWhatIsNotThere_writesNothing() {
    bench.key("a");
    timers.delete(1, 5);
    timers.register(1, 5);
    timers.delete(2, 5);
    assertThat(bench.changelog.changes).hasSize(1);
    timers.delete(1, 5);
    assertThat(bench.changelog.changes).hasSize(2);
    assertThat(timers.isEmpty()).isTrue();
  }

  @Test
  void freshQueue_neverScans() {
    bench.key("a");
    timers.register(1, 5);
    assertThat(timers.peek()).isNotNull();
    assertThat(bench.table.scansOpened).isZero();
  }

  /** As sliding windows do with each record: ten timers of each key, twice. */
  @Test
  void register_again_behindTheEarliest_readsNothing() {
    bench.key("a");
    int timersOfKeyGroup = 3 * TimerHead.CAPACITY;
    registerAll(timersOfKeyGroup);
    registerAll(timersOfKeyGroup);
    int before = bench.table.gets;
    registerAll(timersOfKeyGroup);
    assertThat(bench.changelog.changes).hasSize(timersOfKeyGroup);
    assertThat(bench.table.gets - before).isLessThan(timersOfKeyGroup / 10);
    bench.key("b".repeat(RecentTimers.MAX_TIMER_BYTES));
    registerAll(timersOfKeyGroup);
    registerAll(timersOfKeyGroup);
    assertThat(bench.changelog.changes).hasSize(2 * timersOfKeyGroup);
  }

  private void registerAll(int count) {
    for (int i = 0; i < count; i++) {
      timers.register(1, i);
    }
  }

  /** What is remembered is never gone, and mostly not forgotten when it would fit. */
  @Test
  void recentTimers_holdNothingThatWasRemoved() {
    Random random = new Random(7);
    RecentTimers recent = new RecentTimers(3, 1);
    TreeSet<byte[]> stored = new TreeSet<>(Arrays::compareUnsigned);
    int known = 0;
    int asked = 0;
    for (int step = 0; step < 100_000; step++) {
      // Longer ones come later, too.
      byte[] key = new byte[5 + random.nextInt(step < 50_000 ? 10 : 20)];
      ByteBuffer.wrap(key).putShort(key.length - 2, (short) random.nextInt(50));
      boolean found = recent.contains(key, key.length);
      if (!stored.contains(key)) {
        assertThat(found).isFalse();
        stored.add(key);
        recent.add(key, key.length);
      } else if (random.nextInt(3) == 0) {
        stored.remove(key);
        recent.remove(key, key.length);
      } else {
        asked++;
        known += found ? 1 : 0;
        if (!found) {
          recent.add(key, key.length);
        }
      }
    }
    assertThat(stored).hasSizeGreaterThan(RecentTimers.MAX_SLOTS / 2);
    assertThat(known).isGreaterThan(asked * 8 / 10);
  }

  @ParameterizedTest
  @CsvSource({"1, 1024", "128, 1024", "1024, 128", "32768, 16"})
  void recentTimers_ofManyKeyGroups_areFewer(int keyGroups, int atMost) {
    RecentTimers recent = new RecentTimers(0, keyGroups);
    byte[] key = new byte[Integer.BYTES];
    for (int i = 0; i < 10_000; i++) {
      recent.add(ByteBuffer.wrap(key).putInt(0, i).array(), key.length);
    }
    int remembered = 0;
    for (int i = 0; i < 10_000; i++) {
      remembered += recent.contains(ByteBuffer.wrap(key).putInt(0, i).array(), key.length) ? 1 : 0;
    }
    assertThat(remembered).isLessThanOrEqualTo(atMost).isGreaterThan(atMost / 2);
  }

  @Test
  void register_throwsAlthoughItIsApplied_fires() {
    bench.key("a");
    failAfterItIsApplied(() -> timers.register(1, 5));
    assertThat(timers.poll()).isEqualTo(new Timer<>(5, "a", 1));
    assertThat(timers.poll()).isNull();
  }

  @Test
  void delete_throwsAlthoughItIsApplied_registeredAgain_fires() {
    bench.key("a");
    int count = TimerHead.CAPACITY + 72;
    registerAll(count);
    for (int late : new int[] {5, TimerHead.CAPACITY + 22}) {
      failAfterItIsApplied(() -> timers.delete(1, late));
      assertThat(bench.table.rows).hasSize(count - 1);
      timers.register(1, late);
    }
    checkPolls(0, count);
  }

  @Test
  void poll_throwsAlthoughItIsApplied_goesOnBehind() {
    bench.key("a");
    registerAll(3);
    failAfterItIsApplied(timers::poll);
    checkPolls(1, 3);
  }

  @Test
  void peek_readingFailsHalfWay_readsAgain() {
    bench.key("a");
    registerAll(10);
    Bench restored = bench.restored();
    TimerQueue<String, Integer> again = restored.registry.timers("t", NUMBER);
    restored.table.entriesBeforeFailure = 3;
    assertThatThrownBy(again::peek).hasMessageContaining("the disk is away");
    for (int i = 0; i < 10; i++) {
      assertThat(again.poll()).isEqualTo(new Timer<>(i, "a", 1));
    }
    assertThat(again.poll()).isNull();
  }

  private void failAfterItIsApplied(ThrowingCallable change) {
    RuntimeException failure = new IllegalStateException("test");
    bench.changelog.failure = failure;
    assertThatThrownBy(change).isSameAs(failure);
  }

  private void checkPolls(int from, int to) {
    for (int i = from; i < to; i++) {
      assertThat(timers.poll()).isEqualTo(new Timer<>(i, "a", 1));
    }
    assertThat(timers.poll()).isNull();
    assertThat(bench.table.rows).isEmpty();
  }

  @Test
  void afterClose_throwsClosed() {
    bench.key("a");
    timers.register(1, 5);
    bench.writePath.close();
    assertThatThrownBy(timers::peek).hasMessageContaining("closed");
    assertThatThrownBy(() -> timers.register(1, 5)).hasMessageContaining("closed");
  }

  @Test
  void readingOn_startsBehindWhatIsGone() {
    bench.key("a");
    for (int i = 0; i < 2 * TimerHead.CAPACITY; i++) {
      timers.register(1, i);
    }
    for (int i = 0; i < TimerHead.CAPACITY; i++) {
      assertThat(timers.poll()).isEqualTo(new Timer<>(i, "a", 1));
    }
    // Only the table knows of what comes next, and it comes before everything that it holds.
    timers.register(1, -7);
    assertThat(timers.poll()).isEqualTo(new Timer<>(-7, "a", 1));
    assertThat(bench.table.lastScanFrom).isNotNull();
    assertThat(timers.poll()).isEqualTo(new Timer<>(TimerHead.CAPACITY, "a", 1));
  }

  /** Enough timers a key group that the cache of each overflows and is read again. */
  @ParameterizedTest
  @ValueSource(ints = {50, 5_000})
  void anyOrderOfCalls_isAsAModelSays(int idealSize) {
    for (long seed = 0; seed < 20; seed++) {
      runAgainstModel(new Random(seed), idealSize);
    }
  }

  private static void runAgainstModel(Random random, int idealSize) {
    Bench bench = new Bench();
    TimerQueue<String, Integer> timers = bench.registry.timers("t", NUMBER);
    Comparator<Timer<String, Integer>> byTime =
        Comparator.comparingLong(Timer<String, Integer>::timestampMillis);
    TreeSet<Timer<String, Integer>> model =
        new TreeSet<>(byTime.thenComparing(Timer::key).thenComparing(Timer::namespace));
    // Few keys: few key groups, so that each holds more than the cache.
    String[] keys = {"a", "b", "c", "d"};
    for (int step = 0; step < 3 * idealSize; step++) {
      String key = keys[random.nextInt(keys.length)];
      Timer<String, Integer> timer =
          new Timer<>(random.nextInt(2 * idealSize) - idealSize, key, random.nextInt(2));
      int dice = random.nextInt(100);
      if (dice < (model.size() < idealSize ? 70 : 20)) {
        bench.key(key);
        timers.register(timer.namespace(), timer.timestampMillis());
        model.add(timer);
      } else if (dice < 75) {
        Timer<String, Integer> victim = model.floor(timer);
        if (victim != null && random.nextBoolean()) {
          timer = victim;
        }
        bench.key(timer.key());
        timers.delete(timer.namespace(), timer.timestampMillis());
        model.remove(timer);
      } else if (dice < 98) {
        poll(timers, model);
      } else if (dice == 98) {
        assertThat(timers.isEmpty()).isEqualTo(model.isEmpty());
      } else {
        bench = bench.restored();
        timers = bench.registry.timers("t", NUMBER);
      }
    }
    while (!model.isEmpty()) {
      poll(timers, model);
    }
    assertThat(timers.poll()).isNull();
    assertThat(bench.table.rows).isEmpty();
    assertThat(bench.table.openScans).isZero();
  }

  private static void poll(
      TimerQueue<String, Integer> timers, NavigableSet<Timer<String, Integer>> model) {
    Timer<String, Integer> peeked = timers.peek();
    Timer<String, Integer> polled = timers.poll();
    assertThat(polled).isEqualTo(peeked);
    if (polled == null) {
      assertThat(model).isEmpty();
    } else {
      assertThat(polled.timestampMillis()).isEqualTo(model.first().timestampMillis());
      assertThat(model.remove(polled)).isTrue();
    }
  }
}
