package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.ThreadExecution;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.Changes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Real threads: several tasks, a store that fails now and then, changelogs that come and go. */
final class UploaderStressTest {

  private static final int TASKS = 4;

  static Stream<Long> seeds() {
    return Seeds.of(5);
  }

  private final MapBlobStore map = new MapBlobStore();
  private final FaultyBlobStore store = new FaultyBlobStore(map);

  @ParameterizedTest
  @MethodSource("seeds")
  void tasks_whileTheStoreFails_loseNothingAndLeakNothing(long seed) throws Exception {
    Random random = new Random(seed);
    for (int i = 0; i < 6; i++) {
      String how = List.of("fail before", "fail after", "throttle", "delay 3ms").get(i % 4);
      store.rule(how + " put data/* #" + (1 + random.nextInt(40)));
    }
    ExecutorService tasks = Executors.newFixedThreadPool(TASKS);
    try (ThreadExecution execution = new ThreadExecution()) {
      Log log =
          new Log(
              store,
              execution,
              Map.of(
                  "dstl.dfs.compression.enabled", Boolean.toString(random.nextBoolean()),
                  "dstl.dfs.batch.persist-delay", "1ms",
                  "dstl.dfs.preemptive-persist-threshold", "200 kb",
                  "dstl.dfs.upload.max-in-flight", "700 kb",
                  "dstl.dfs.upload.timeout", seed % 2 == 0 ? "2ms" : "5s",
                  "dstl.dfs.upload.next-attempt-delay", "1ms"));
      List<Future<Void>> running = new ArrayList<>();
      for (int id = 0; id < TASKS; id++) {
        running.add(tasks.submit(task(log, execution, id, random.nextLong())));
      }
      for (Future<Void> task : running) {
        task.get();
      }
      log.storage.close();
      waitUntilNothingIsHeld(log);
    } finally {
      tasks.shutdownNow();
    }
    Log check = new Log(map, new StepExecution(), Map.of());
    for (String name : map.content().keySet()) {
      assertThat(check.storage.verify(map, BlobName.parse(name)).problems()).isEmpty();
    }
  }

  private static Callable<Void> task(Log log, ThreadExecution execution, int id, long seed) {
    return () -> {
      Random random = new Random(seed);
      Changelog changelog = log.open(id);
      Changes changes = new Changes(random, Log.KEY_GROUPS, 0);
      List<Change> written = new ArrayList<>();
      int trimmed = 0;
      for (int round = 0; round < 12; round++) {
        for (int i = random.nextInt(4_000); i > 0; i--) {
          Change change = changes.next();
          Log.append(changelog, change);
          written.add(change);
        }
        if (random.nextInt(3) == 0) {
          changelog.seal();
        }
        try {
          List<BlockRef> blocks = execution.await(changelog.persist(trimmed));
          int first = blocks.isEmpty() ? written.size() : (int) blocks.get(0).fromSqn();
          assertThat(Log.lines(log.read(blocks, Log.KEY_GROUPS)))
              .isEqualTo(Log.lines(written.subList(first, written.size())));
          assertThat(changelog.durableUpTo()).isEqualTo(written.size());
        } catch (StateBackendException e) {
          assertThat(e.kind()).as("%s", e).isEqualTo(StateBackendException.Kind.UNAVAILABLE);
        }
        if (random.nextInt(4) == 0) {
          trimmed = random.nextInt(trimmed, written.size() + 1);
          changelog.trim(trimmed);
        }
        assertThat(changelog.bytesSince(0)).isNotNegative();
      }
      if (random.nextBoolean()) {
        changelog.close();
      }
      return null;
    };
  }

  private static void waitUntilNothingIsHeld(Log log) throws InterruptedException {
    for (int i = 0; i < 1_000 && log.storage.uploader().pool().heldBuffers() > 0; i++) {
      Thread.sleep(5);
    }
    log.checkNothingHeld();
  }
}
