package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Operation;
import io.alluvium.testkit.blob.MapBlobStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What two threads leave behind that used one changelog at once is refused before it is stored. */
final class TornLogTest {

  private static final byte[] KEY = {0, 1, 7, 1, 'k', 0};

  private final StepExecution execution = new StepExecution();
  private final Log log = new Log(new MapBlobStore(), execution, Map.of());
  private final Uploader uploader = log.storage.uploader();
  private final BlockLedger ledger = new BlockLedger(9, Log.KEY_GROUPS, 0);

  private Block block(long from, long to, long bytesBefore, int changes) {
    BufferPool.Buffer buffer = uploader.pool().take(BufferPool.BLOCK_BYTES);
    int length = 0;
    for (int i = 0; i < changes; i++) {
      length =
          RawChanges.write(buffer.array(), length, Operation.PUT, KEY, KEY.length, new byte[1], 1);
    }
    return new Block(ledger, from, to, bytesBefore, buffer, length);
  }

  private void assertTorn(CompletableFuture<List<BlockRef>> asked, String found) {
    assertThatThrownBy(() -> execution.await(asked))
        .isInstanceOfSatisfying(
            StateBackendException.class,
            e -> {
              assertThat(e.kind()).isEqualTo(Kind.INVALID);
              assertThat(e).hasMessageContaining(found).hasMessageContaining("two threads");
            });
  }

  @Test
  void block_hasFewerChangesThanWereCounted_failsTheChangelogForGood() {
    uploader.open(ledger);
    assertThat(execution.await(uploader.persist(ledger, block(0, 3, 0, 3), 0, 3))).hasSize(1);
    long bytes = ledger.sealedBytes();
    assertTorn(
        uploader.persist(ledger, block(3, 9, bytes, 5), 3, 9),
        "the block of changes [3, 9) holds 5 changes");
    execution.pass(Duration.ofMinutes(5));
    // It is not tried again, and nothing later becomes durable beyond it.
    assertThat(ledger.durableUpTo()).isEqualTo(3);
    assertTorn(uploader.persist(ledger, null, 9, 9), "holds 5 changes");
    assertTorn(
        uploader.persist(ledger, block(9, 10, ledger.sealedBytes(), 1), 9, 10), "holds 5 changes");
    List<SegmentUpload> unused = uploader.close(ledger);
    log.checkNothingHeld();
  }

  @Test
  void block_doesNotFollowTheLast_failsTheChangelogForGood() {
    uploader.open(ledger);
    uploader.seal(block(0, 3, 0, 3));
    assertTorn(
        uploader.persist(ledger, block(4, 6, ledger.sealedBytes(), 2), 0, 6),
        "a block of changes [4, 6) follows those up to 3");
    List<SegmentUpload> unused = uploader.close(ledger);
    execution.pass(Duration.ofMinutes(1));
    log.checkNothingHeld();
  }

  @Test
  void persist_endIsNotWhatWasSealed_failsTheChangelogForGood() {
    uploader.open(ledger);
    assertTorn(uploader.persist(ledger, block(0, 3, 0, 3), 0, 4), "changes up to 4");
    List<SegmentUpload> unused = uploader.close(ledger);
    execution.pass(Duration.ofMinutes(1));
    log.checkNothingHeld();
  }

  @Test
  void anotherChangelog_goesOn() {
    uploader.open(ledger);
    assertTorn(uploader.persist(ledger, block(0, 3, 0, 2), 0, 3), "holds 2 changes");
    Changelog other = log.open(1);
    Log.fill(other, 5, 40);
    assertThat(execution.await(other.persist(0))).hasSize(1);
    other.close();
    List<SegmentUpload> unused = uploader.close(ledger);
    log.checkNothingHeld();
  }

  @Test
  void garbage_isRefusedWhateverItSays() {
    BlockEncoder encoder = new BlockEncoder(BlockFormat.Codec.NONE);
    java.util.Random random = new java.util.Random(3);
    for (int i = 0; i < 10_000; i++) {
      byte[] raw = new byte[1 + random.nextInt(60)];
      random.nextBytes(raw);
      if (random.nextBoolean() && raw.length > 8) {
        // Lengths that are plausible at first sight.
        raw[0] = raw[1] = raw[2] = raw[4] = raw[5] = raw[6] = 0;
      }
      BlockEncoder.Source source =
          new BlockEncoder.Source(1, Log.KEY_GROUPS, 0, 1_000, raw, raw.length);
      assertThatThrownBy(() -> encoder.encode(source, uploader.pool()))
          .isInstanceOf(TornLogException.class);
    }
    assertThat(uploader.pool().heldBuffers()).isZero();
  }
}
