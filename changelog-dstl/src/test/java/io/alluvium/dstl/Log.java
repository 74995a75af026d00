package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangeBlock;
import io.alluvium.spi.ChangeCursor;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Operation;
import io.alluvium.testkit.table.Change;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/** A storage over a store and an execution of the test's choice, and ways to use it. */
final class Log {

  static final KeyGroupRange KEY_GROUPS = new KeyGroupRange(0, 8);
  static final Incarnation INCARNATION = new Incarnation(0x0123456789abcdefL, 0xfedcba9876543210L);

  final RecordedMetrics metrics = new RecordedMetrics();
  final DstlStorage storage;
  private final Execution execution;

  Log(BlobStore store, Execution execution, Map<String, String> settings) {
    this.execution = execution;
    this.storage =
        (DstlStorage)
            new FileSystemStorageProvider()
                .open(
                    new ChangelogStorageProvider.Context(
                        Configuration.of(settings, DstlOptions.ALL),
                        store,
                        new Names(),
                        execution,
                        new Random(5),
                        metrics));
  }

  /** Counts up from 0. */
  private static final class Names implements BlobNames {
    private final AtomicLong counter = new AtomicLong();

    @Override
    public BlobName next(BlobName.Kind kind) {
      return new BlobName(INCARNATION, counter.getAndIncrement(), kind);
    }

    @Override
    public Incarnation incarnation() {
      return INCARNATION;
    }
  }

  Changelog open(long id) {
    return storage.open(id, KEY_GROUPS, 0);
  }

  /** Appends {@code count} changes of which each takes {@code bytes} in the active block. */
  static void fill(Changelog log, int count, int bytes) {
    byte[] key = {0, 0, 7, 1, 'k', 0};
    byte[] value = new byte[bytes - RawChanges.HEADER_LENGTH - key.length];
    for (int i = 0; i < count; i++) {
      key[1] = (byte) (log.nextSqn() % KEY_GROUPS.size());
      log.awaitRoom();
      log.append(Operation.PUT, key, key.length, value, value.length);
    }
  }

  static void append(Changelog log, Change change) {
    log.awaitRoom();
    log.append(
        change.operation(),
        change.key(),
        change.key().length,
        change.value(),
        change.value().length);
  }

  /** The changes of all key groups of a range, in order. */
  List<Change> read(List<BlockRef> refs, KeyGroupRange keyGroups) {
    List<Change> changes = new ArrayList<>();
    for (BlockRef ref : refs) {
      readInto(execution.await(storage.read(ref, keyGroups)), keyGroups, changes);
    }
    changes.sort(Comparator.comparingLong(Change::sqn));
    return changes;
  }

  static void readInto(ChangeBlock block, KeyGroupRange keyGroups, List<Change> into) {
    for (int keyGroup = keyGroups.from(); keyGroup < keyGroups.to(); keyGroup++) {
      ChangeCursor at = block.changes(keyGroup);
      while (at.next()) {
        byte[] array = at.array();
        into.add(
            new Change(
                at.sqn(),
                at.operation(),
                Arrays.copyOfRange(array, at.keyOffset(), at.keyOffset() + at.keyLength()),
                Arrays.copyOfRange(array, at.valueOffset(), at.valueOffset() + at.valueLength())));
      }
    }
  }

  static List<String> lines(List<Change> changes) {
    return changes.stream().map(Change::toString).toList();
  }

  /** Nothing may be held by anybody once all is over. */
  void checkNothingHeld() {
    checkNothingHeldExceptActive(0);
  }

  /** The same while changelogs are open, of which so many have an active block. */
  void checkNothingHeldExceptActive(int active) {
    BufferPool pool = storage.uploader().pool();
    assertThat(pool.heldBuffers()).as("buffers held").isEqualTo(active);
    assertThat(pool.heldBytes()).as("bytes held").isEqualTo((long) active * BufferPool.ARRAY_BYTES);
    assertThat(storage.uploader().inFlightBytes()).as("bytes in flight").isZero();
  }
}
