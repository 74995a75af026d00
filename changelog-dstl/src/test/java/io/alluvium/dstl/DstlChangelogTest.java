package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Operation;
import io.alluvium.testkit.blob.MapBlobStore;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The active block: appending, sealing, closing. */
final class DstlChangelogTest {

  private final StepExecution execution = new StepExecution();
  private final Log log = new Log(new MapBlobStore(), execution, Map.of());

  @Test
  void append_withinABlock_allocatesNothing() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    Changelog changelog = log.open(1);
    byte[] key = {0, 1, 7, 4, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0};
    byte[] value = new byte[16];
    long allocated = 0;
    // The first rounds load and link what they need.
    for (int round = 0; round < 5; round++) {
      changelog.append(Operation.PUT, key, key.length, value, value.length);
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < 6_000; i++) {
        changelog.append(Operation.PUT, key, key.length, value, value.length);
      }
      allocated = threads.getCurrentThreadAllocatedBytes() - before;
      CompletableFuture<List<BlockRef>> persisted = changelog.persist(0);
      execution.runTasks();
      assertThat(persisted).isCompleted();
    }
    assertThat(allocated).isZero();
  }

  @Test
  void append_nextToTheEndOfABlock_fillsItExactly() {
    Changelog changelog = log.open(1);
    int left = BufferPool.BLOCK_BYTES - 6_553 * 40;
    Log.fill(changelog, 6_553, 40);
    Log.fill(changelog, 1, left);
    Log.fill(changelog, 1, 40);
    CompletableFuture<List<BlockRef>> blocks = changelog.persist(0);
    execution.runTasks();
    assertThat(blocks.join()).extracting(BlockRef::toSqn).containsExactly(6_554L, 6_555L);
  }

  @Test
  void append_oneByteTooMuchForABlock_getsItsOwn() {
    Changelog changelog = log.open(1);
    Log.fill(changelog, 2, 40);
    Log.fill(changelog, 1, BufferPool.BLOCK_BYTES + 1);
    Log.fill(changelog, 2, 40);
    CompletableFuture<List<BlockRef>> blocks = changelog.persist(0);
    execution.runTasks();
    assertThat(blocks.join()).extracting(BlockRef::toSqn).containsExactly(2L, 3L, 5L);
    log.checkNothingHeldExceptActive(1);
  }

  @Test
  void append_afterClose_throws() {
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    changelog.close();
    assertThatThrownBy(() -> Log.fill(changelog, 1, 40))
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CLOSED));
    log.checkNothingHeld();
  }

  @Test
  void storageClose_closesItsChangelogsAndTellsWhoWaits() {
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> waiting = changelog.persist(0);
    log.storage.close();
    assertThat(waiting).isCompletedExceptionally();
    assertThatThrownBy(changelog::seal).hasMessageContaining("closed");
    assertThatThrownBy(() -> log.open(2)).hasMessageContaining("closed");
    execution.runTasks();
    log.checkNothingHeld();
  }

  @Test
  void bytesSince_countsFromTheBlockThatHoldsTheNumber() {
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    changelog.seal();
    Log.fill(changelog, 10, 50);
    changelog.seal();
    Log.fill(changelog, 1, 60);
    assertThat(changelog.bytesSince(0)).isEqualTo(400 + 500 + 60);
    assertThat(changelog.bytesSince(9)).isEqualTo(400 + 500 + 60);
    assertThat(changelog.bytesSince(10)).isEqualTo(500 + 60);
    assertThat(changelog.bytesSince(20)).isEqualTo(60);
    assertThat(changelog.bytesSince(21)).isZero();
    changelog.trim(10);
    assertThat(changelog.bytesSince(10)).isEqualTo(500 + 60);
  }
}
