package io.alluvium.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangeBlock;
import io.alluvium.spi.ChangeCursor;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Metrics;
import io.alluvium.testkit.ThreadExecution;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.Changes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Writes and reads changelogs for {@link ChangelogConformance}. */
abstract class ChangelogHarness {

  static final KeyGroupRange ALL = new KeyGroupRange(0, 8);

  final Execution execution = new ThreadExecution();
  final MapBlobStore map = new MapBlobStore();
  final FaultyBlobStore store = new FaultyBlobStore(map);
  private final List<Changelog> open = new ArrayList<>();
  ChangelogStorage storage;

  /** The provider under test. */
  protected abstract ChangelogStorageProvider provider();

  /** Additional settings. */
  protected Map<String, String> settings() {
    return Map.of();
  }

  /** Whether blocks are stored in the blob store, so that faults and damage are possible. */
  protected boolean storesBlobs() {
    return true;
  }

  @BeforeEach
  final void openStorage() {
    List<String> known = provider().options().stream().map(Option::key).toList();
    Map<String, String> values =
        new HashMap<>(
            Map.of(
                "dstl.dfs.batch.persist-delay", "1ms",
                "dstl.dfs.upload.next-attempt-delay", "1ms",
                "dstl.dfs.upload.timeout", "5s"));
    values.keySet().retainAll(known);
    values.putAll(settings());
    storage =
        provider()
            .open(
                new ChangelogStorageProvider.Context(
                    Configuration.of(values, provider().options()),
                    store,
                    new Names(),
                    execution,
                    new Random(11),
                    Metrics.NONE));
  }

  @AfterEach
  final void closeStorage() {
    store.clearRules();
    open.forEach(Changelog::close);
    storage.close();
    execution.close();
  }

  final Changelog open(long id, long startSqn) {
    Changelog log = storage.open(id, ALL, startSqn);
    open.add(log);
    return log;
  }

  static Changes changes(long seed, long startSqn) {
    return new Changes(new Random(seed), ALL, startSqn);
  }

  static List<Change> write(Changelog log, Changes changes, int count) {
    List<Change> written = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Change change = changes.next();
      append(log, change);
      written.add(change);
    }
    return written;
  }

  static void append(Changelog log, Change change) {
    assertThat(log.nextSqn()).isEqualTo(change.sqn());
    byte[] key = Arrays.copyOf(change.key(), change.key().length + 2);
    byte[] value = Arrays.copyOf(change.value(), change.value().length + 2);
    log.awaitRoom();
    log.append(change.operation(), key, change.key().length, value, change.value().length);
  }

  final List<BlockRef> persist(Changelog log, long from) {
    return execution.await(log.persist(from));
  }

  /** Checks that blocks cover {@code [from, to)} in order, without gaps or unnecessary blocks. */
  static void checkBlocks(List<BlockRef> blocks, long from, long to) {
    if (from == to) {
      assertThat(blocks).isEmpty();
      return;
    }
    assertThat(blocks).isNotEmpty();
    long at = blocks.get(0).fromSqn();
    assertThat(at).isLessThanOrEqualTo(from);
    assertThat(blocks.get(0).toSqn()).isGreaterThan(from);
    for (BlockRef block : blocks) {
      assertThat(block.fromSqn()).isEqualTo(at);
      assertThat(block.toSqn()).isGreaterThan(at);
      at = block.toSqn();
    }
    assertThat(at).isEqualTo(to);
  }

  /** Reads blocks and merges the changes of all key groups into one order. */
  final List<String> read(List<BlockRef> blocks, KeyGroupRange keyGroups) {
    List<Change> changes = new ArrayList<>();
    for (BlockRef block : blocks) {
      ChangeBlock decoded = execution.await(storage.read(block, keyGroups));
      for (int keyGroup = keyGroups.from(); keyGroup < keyGroups.to(); keyGroup++) {
        readInto(decoded, keyGroup, block, changes);
      }
    }
    changes.sort(Comparator.comparingLong(Change::sqn));
    return lines(changes);
  }

  private static void readInto(
      ChangeBlock decoded, int keyGroup, BlockRef block, List<Change> into) {
    ChangeCursor cursor = decoded.changes(keyGroup);
    long before = block.fromSqn() - 1;
    while (cursor.next()) {
      assertThat(cursor.sqn()).isGreaterThan(before).isLessThan(block.toSqn());
      before = cursor.sqn();
      byte[] array = cursor.array();
      byte[] key = slice(array, cursor.keyOffset(), cursor.keyLength());
      byte[] value = slice(array, cursor.valueOffset(), cursor.valueLength());
      assertThat(KeyLayout.keyGroup(key, 0)).isEqualTo(keyGroup);
      into.add(new Change(cursor.sqn(), cursor.operation(), key, value));
    }
  }

  private static byte[] slice(byte[] array, int offset, int length) {
    return Arrays.copyOfRange(array, offset, offset + length);
  }

  static List<Change> within(List<Change> changes, KeyGroupRange keyGroups) {
    return changes.stream()
        .filter(change -> keyGroups.contains(KeyLayout.keyGroup(change.key(), 0)))
        .toList();
  }

  static List<String> lines(List<Change> changes) {
    return changes.stream().map(Change::toString).toList();
  }

  /** Generates names like an owner. Thread-safe. */
  private static final class Names implements BlobNames {
    private final Incarnation incarnation = new Incarnation(0x1234, 0x5678);
    private final AtomicLong counter = new AtomicLong();

    @Override
    public BlobName next(BlobName.Kind kind) {
      return new BlobName(incarnation, counter.getAndIncrement(), kind);
    }

    @Override
    public Incarnation incarnation() {
      return incarnation;
    }
  }
}
