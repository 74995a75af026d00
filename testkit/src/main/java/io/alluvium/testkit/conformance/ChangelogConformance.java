package io.alluvium.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangeBlock;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Operation;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.BlobOp;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.Changes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Conformance suite of {@link Changelog} and its storage. The test of a provider extends it. */
public abstract class ChangelogConformance extends ChangelogHarness {

  static Stream<Long> seeds() {
    return Seeds.of(20);
  }

  @Test
  void append_changes_areNumberedFromTheStart() {
    Changelog log = open(1, 42);
    assertThat(log.nextSqn()).isEqualTo(42);
    write(log, changes(1, 42), 3);
    assertThat(log.nextSqn()).isEqualTo(45);
    assertThat(log.seal()).isEqualTo(45);
    assertThat(log.seal()).isEqualTo(45);
  }

  @Test
  void persist_everyOperation_isReadable() {
    Changelog log = open(1, 0);
    byte[] key = {0, 3, 7, 1, 'k', 0};
    List<Change> written = new ArrayList<>();
    for (Operation operation : Operation.values()) {
      boolean valued = operation == Operation.PUT || operation == Operation.MERGE;
      byte[] value = valued ? new byte[] {1, 2, 3} : new byte[0];
      written.add(new Change(written.size(), operation, key, value));
    }
    written.add(new Change(written.size(), Operation.PUT, key, new byte[0]));
    written.add(new Change(written.size(), Operation.DELETE_RANGE, new byte[] {0, 3, 7}, key(0)));
    written.forEach(change -> append(log, change));
    List<BlockRef> blocks = persist(log, 0);
    checkBlocks(blocks, 0, written.size());
    assertThat(read(blocks, ALL)).isEqualTo(lines(written));
  }

  private static byte[] key(int length) {
    return new byte[length];
  }

  @Test
  void append_callerReusesItsArrays_keepsTheChanges() {
    Changelog log = open(1, 0);
    byte[] key = {0, 1, 7, 1, 'a', 0, 9, 9};
    byte[] value = {5, 6, 7, 8};
    log.append(Operation.PUT, key, 6, value, 3);
    key[4] = 'b';
    value[0] = 0;
    assertThat(read(persist(log, 0), ALL)).containsExactly("0 PUT 000107016100 050607");
  }

  @Test
  void persist_nothingAppended_isEmptyAndWritesNothing() {
    Changelog log = open(1, 17);
    assertThat(persist(log, 17)).isEmpty();
    write(log, changes(1, 17), 5);
    persist(log, 17);
    int puts = store.count(BlobOp.PUT);
    assertThat(persist(log, log.nextSqn())).isEmpty();
    assertThat(persist(log, 17)).isNotEmpty();
    assertThat(store.count(BlobOp.PUT)).as("puts without new changes").isEqualTo(puts);
  }

  @Test
  void persist_fromTheMiddle_givesOverlappingBlocks() {
    Changelog log = open(1, 0);
    Changes changes = changes(2, 0);
    List<Change> written = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      written.addAll(write(log, changes, 10));
      log.seal();
    }
    List<BlockRef> blocks = persist(log, 55);
    checkBlocks(blocks, 55, 100);
    long first = blocks.get(0).fromSqn();
    assertThat(read(blocks, ALL)).isEqualTo(lines(written.subList((int) first, 100)));
    // Blocks before the middle may still be uploading in another segment.
    checkBlocks(persist(log, 0), 0, 100);
    assertThat(log.durableUpTo()).isEqualTo(100);
  }

  @Test
  void persist_laterAppends_areNotIncluded() {
    Changelog log = open(1, 0);
    Changes changes = changes(3, 0);
    List<Change> written = write(log, changes, 50);
    CompletableFuture<List<BlockRef>> blocks = log.persist(0);
    written.addAll(write(log, changes, 50));
    List<BlockRef> first = execution.await(blocks);
    assertThat(first.get(first.size() - 1).toSqn()).isEqualTo(50);
    assertThat(read(first, ALL)).isEqualTo(lines(written.subList(0, 50)));
    assertThat(read(persist(log, 0), ALL)).isEqualTo(lines(written));
  }

  @Test
  void append_manyBlocks_keepsAllChanges() {
    Changelog log = open(1, 0);
    Random random = new Random(4);
    List<Change> written = new ArrayList<>();
    for (int i = 0; i < 3_000; i++) {
      byte[] value = new byte[i == 1_500 ? 2 * 1024 * 1024 : random.nextInt(1_000)];
      random.nextBytes(value);
      byte[] key = {0, (byte) random.nextInt(8), 7, 1, (byte) i, 0};
      Change change = new Change(i, Operation.PUT, key, value);
      append(log, change);
      written.add(change);
    }
    List<BlockRef> blocks = persist(log, 0);
    checkBlocks(blocks, 0, 3_000);
    assertThat(read(blocks, ALL)).isEqualTo(lines(written));
  }

  @Test
  void read_someKeyGroups_givesTheirChangesInOrder() {
    Changelog log = open(1, 0);
    List<Change> written = write(log, changes(5, 0), 400);
    List<BlockRef> blocks = persist(log, 0);
    for (KeyGroupRange range :
        List.of(new KeyGroupRange(0, 1), new KeyGroupRange(2, 5), new KeyGroupRange(7, 8))) {
      assertThat(read(blocks, range)).isEqualTo(lines(within(written, range)));
    }
  }

  @Test
  void read_keyGroupWithoutChanges_hasAnEmptyCursor() {
    Changelog log = open(1, 0);
    append(log, new Change(0, Operation.PUT, new byte[] {0, 3, 7, 0, 0}, new byte[1]));
    BlockRef block = persist(log, 0).get(0);
    ChangeBlock decoded = execution.await(storage.read(block, ALL));
    assertThat(decoded.changes(2).next()).isFalse();
    assertThat(decoded.changes(3).next()).isTrue();
    assertThat(decoded.sizeBytes()).isPositive();
    ChangeBlock elsewhere = execution.await(storage.read(block, new KeyGroupRange(4, 8)));
    assertThat(elsewhere.changes(5).next()).isFalse();
  }

  @Test
  void trim_position_dropsWholeBlocksBelow() {
    Changelog log = open(1, 0);
    Changes changes = changes(6, 0);
    List<BlobName> blobs = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      write(log, changes, 10);
      persist(log, 10L * i).forEach(block -> blobs.add(block.blob()));
    }
    assertThat(log.liveBlobs()).containsAll(blobs);
    log.trim(25);
    assertThat(log.liveBlobs()).containsAll(blobs.subList(2, 4)).doesNotContain(blobs.get(0));
    checkBlocks(persist(log, 25), 25, 40);
    log.trim(40);
    assertThat(log.liveBlobs()).doesNotContainAnyElementsOf(blobs.subList(0, 3));
    write(log, changes, 10);
    checkBlocks(persist(log, 40), 40, 50);
  }

  @Test
  void bytesSince_afterAppends_grows() {
    Changelog log = open(1, 100);
    assertThat(log.bytesSince(100)).isZero();
    byte[] key = {0, 1, 7, 0, 0};
    for (int i = 0; i < 100; i++) {
      log.append(Operation.PUT, key, key.length, new byte[1_000], 1_000);
    }
    assertThat(log.bytesSince(100)).isBetween(100_000L, 200_000L);
    persist(log, 100);
    assertThat(log.bytesSince(100)).isBetween(100_000L, 200_000L);
    assertThat(log.bytesSince(log.nextSqn())).isZero();
  }

  @Test
  void twoChangelogs_sameStorage_areIndependent() {
    Changelog one = open(1, 0);
    Changelog two = open(2, 500);
    List<Change> first = write(one, changes(7, 0), 60);
    List<Change> second = write(two, changes(8, 500), 70);
    CompletableFuture<List<BlockRef>> ofOne = one.persist(0);
    CompletableFuture<List<BlockRef>> ofTwo = two.persist(500);
    List<BlockRef> blocksOfTwo = execution.await(ofTwo);
    assertThat(read(execution.await(ofOne), ALL)).isEqualTo(lines(first));
    assertThat(read(blocksOfTwo, ALL)).isEqualTo(lines(second));
    one.close();
    second.addAll(write(two, changes(9, 570), 10));
    checkBlocks(persist(two, 500), 500, 580);
    assertThat(read(persist(two, 500), ALL)).isEqualTo(lines(second));
  }

  @Test
  void close_oneOfTwoDuringUploads_keepsTheOther() {
    for (int round = 0; round < 10; round++) {
      Changelog one = open(10L + round, 0);
      Changelog two = open(100L + round, 0);
      write(one, changes(round, 0), 100);
      List<Change> second = write(two, changes(round + 50, 0), 100);
      CompletableFuture<List<BlockRef>> ofOne = one.persist(0);
      CompletableFuture<List<BlockRef>> ofTwo = two.persist(0);
      one.close();
      assertThat(read(execution.await(ofTwo), ALL)).isEqualTo(lines(second));
      try {
        checkBlocks(execution.await(ofOne), 0, 100);
      } catch (StateBackendException e) {
        assertThat(e.kind()).as("%s", e).isEqualTo(Kind.CLOSED);
      }
    }
  }

  @Test
  void anyCall_afterClose_throws() {
    Changelog log = open(1, 0);
    write(log, changes(1, 0), 3);
    log.close();
    log.close();
    Expect.failure(Kind.CLOSED, () -> write(log, changes(1, 3), 1));
    Expect.failure(Kind.CLOSED, log::seal);
    Expect.failure(Kind.CLOSED, () -> execution.await(log.persist(0)));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void anyHistory_persisted_isReadExactly(long seed) {
    Random random = new Random(seed);
    long start = random.nextInt(1_000);
    Changelog log = open(seed, start);
    Changes changes = changes(seed, start);
    List<Change> written = new ArrayList<>();
    long trim = start;
    long durable = start;
    for (int i = 0; i < 60; i++) {
      switch (random.nextInt(4)) {
        case 0, 1 -> written.addAll(write(log, changes, random.nextInt(80)));
        case 2 -> assertThat(log.seal()).isEqualTo(changes.nextSqn());
        default -> {
          long from = trim + random.nextInt((int) (changes.nextSqn() - trim) + 1);
          List<BlockRef> blocks = persist(log, from);
          checkBlocks(blocks, from, changes.nextSqn());
          if (!blocks.isEmpty()) {
            int first = (int) (blocks.get(0).fromSqn() - start);
            assertThat(read(blocks, ALL)).isEqualTo(lines(written.subList(first, written.size())));
          }
          if (random.nextInt(3) == 0) {
            trim = from;
            log.trim(trim);
          }
        }
      }
      assertThat(log.durableUpTo()).isBetween(durable, changes.nextSqn());
      durable = log.durableUpTo();
    }
  }

  @Test
  void persist_storeUnavailable_failsAndLaterSucceeds() {
    onlyWhenBlobsAreStored();
    Changelog log = open(1, 0);
    Changes changes = changes(1, 0);
    List<Change> written = write(log, changes, 100);
    store.rule("fail before put data/*");
    Expect.failure(Kind.UNAVAILABLE, () -> persist(log, 0));
    assertThat(log.durableUpTo()).isZero();
    written.addAll(write(log, changes, 100));
    store.clearRules();
    List<BlockRef> blocks = persist(log, 0);
    checkBlocks(blocks, 0, 200);
    assertThat(read(blocks, ALL)).isEqualTo(lines(written));
  }

  @Test
  void persist_lostAnswers_succeeds() {
    onlyWhenBlobsAreStored();
    Changelog log = open(1, 0);
    store.rule("fail after put data/* #1");
    store.rule("throttle put data/* #2");
    List<Change> written = write(log, changes(2, 0), 100);
    List<BlockRef> blocks = persist(log, 0);
    assertThat(read(blocks, ALL)).isEqualTo(lines(written));
  }

  @Test
  void liveBlobs_coverEveryBlobInTheStore() {
    onlyWhenBlobsAreStored();
    Changelog log = open(1, 0);
    Changes changes = changes(3, 0);
    store.rule("fail after put data/* #2");
    for (int i = 0; i < 5; i++) {
      write(log, changes, 30);
      persist(log, 0);
    }
    List<String> stored = store.list("data/").stream().map(BlobInfo::name).toList();
    List<String> live = log.liveBlobs().stream().map(BlobName::toString).toList();
    assertThat(live).containsAll(stored);
  }

  @Test
  void verify_soundSegment_reportsBlocksAndNoProblems() {
    onlyWhenBlobsAreStored();
    Changelog log = open(1, 0);
    write(log, changes(4, 0), 200);
    for (BlockRef block : persist(log, 0)) {
      ChangelogStorage.Verification found = storage.verify(store, block.blob());
      assertThat(found.problems()).isEmpty();
      assertThat(found.blocks()).contains(block);
    }
  }

  @Test
  void verify_flippedByte_reportsTheSegment() {
    onlyWhenBlobsAreStored();
    Changelog log = open(1, 0);
    List<Change> written = write(log, changes(5, 0), 25);
    List<BlockRef> blocks = persist(log, 0);
    List<String> sound = lines(written);
    BlobName blob = blocks.get(0).blob();
    int size = (int) store.size(blob.toString()).orElseThrow();
    for (int at = 0; at < size; at++) {
      map.flip(blob.toString(), at, at % 8);
      assertThat(storage.verify(store, blob).problems())
          .as("byte %d flipped", at)
          .isNotEmpty()
          .allSatisfy(problem -> assertThat(problem).contains(blob.toString()));
      try {
        // A read returns the correct changes or fails.
        assertThat(read(blocks, ALL)).isEqualTo(sound);
      } catch (StateBackendException e) {
        assertThat(e.kind()).as("%s", e).isIn(Kind.CORRUPT, Kind.INCOMPATIBLE);
        assertThat(e).hasMessageContaining(blob.toString());
      }
      map.flip(blob.toString(), at, at % 8);
    }
  }

  @Test
  void verify_truncatedOrMissingSegment_reportsIt() {
    onlyWhenBlobsAreStored();
    Changelog log = open(1, 0);
    write(log, changes(6, 0), 25);
    List<BlockRef> blocks = persist(log, 0);
    String blob = blocks.get(0).blob().toString();
    Map<String, byte[]> sound = map.content();
    int size = (int) store.size(blob).orElseThrow();
    for (int length = size - 1; length >= 0; length -= 1 + length / 10) {
      map.truncate(blob, length);
      assertThat(storage.verify(store, blocks.get(0).blob()).problems())
          .as("truncated to %d bytes", length)
          .isNotEmpty();
    }
    assertThat(sound).containsKey(blob);
    store.delete(List.of(blob));
    assertThat(storage.verify(store, blocks.get(0).blob()).problems()).isNotEmpty();
    assertThatThrownBy(() -> read(blocks, ALL)).hasMessageContaining(blob);
  }

  @Test
  void read_shortOrFlippedAnswer_failsAndLaterSucceeds() {
    onlyWhenBlobsAreStored();
    Changelog log = open(1, 0);
    List<Change> written = write(log, changes(7, 0), 100);
    List<BlockRef> blocks = persist(log, 0);
    store.rule("short 10 read data/* #1");
    store.rule("flip 30.3 read data/* #2");
    Expect.failure(Kind.CORRUPT, () -> read(blocks, ALL));
    Expect.failure(Kind.CORRUPT, () -> read(blocks, ALL));
    store.clearRules();
    assertThat(read(blocks, ALL)).isEqualTo(lines(written));
  }

  private void onlyWhenBlobsAreStored() {
    Assumptions.assumeTrue(
        storesBlobs(), "this storage keeps its blocks in memory: no faults or damage possible");
  }
}
