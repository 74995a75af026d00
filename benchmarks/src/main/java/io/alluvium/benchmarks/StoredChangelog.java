package io.alluvium.benchmarks;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.config.Configuration;
import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.internal.execution.ThreadedExecution;
import io.alluvium.internal.restore.ReplaySpeed;
import io.alluvium.internal.restore.Restorer;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
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
import io.alluvium.spi.Operation;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableProvider;
import io.alluvium.spi.TableProvider.Tables;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.ServiceLoader;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A changelog of random puts in a store in memory, and ways to replay it into a table. Confined to
 * the benchmark's thread.
 */
final class StoredChangelog implements AutoCloseable {

  /** Memory for batches: a third of it is one batch, which is too small for ingestion. */
  static final long MEMORY_FOR_BATCHES = 8 << 20;

  static final long MEMORY_FOR_INGEST = 256 << 20;

  private static final KeyGroupRange GROUPS = new KeyGroupRange(0, 128);
  private static final int STATE = 0x0a11_0714;
  private static final int VALUE_BYTES = 50;
  private static final int CHANGES_A_PERSIST = 200_000;

  private final Execution execution;
  private final BlobStore store =
      new MemoryBlobStore(
          new MemoryBlobStore.Content(), "memory:replay", System::currentTimeMillis);
  private final ChangelogStorage log;
  private final Tables tables;
  private final Scratch scratch = new Scratch();
  private final Path directory;
  private final int threads;
  private List<BlockRef> blocks = List.of();
  private long end;
  private int made;

  private StoredChangelog(int threads) {
    this.threads = threads;
    this.execution = new ThreadedExecution(new ThreadedExecution.Sizes(2, threads, 1));
    ChangelogStorageProvider logs =
        ServiceLoader.load(ChangelogStorageProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(provider -> provider.name().equals("filesystem"))
            .findFirst()
            .orElseThrow();
    this.log =
        logs.open(
            new ChangelogStorageProvider.Context(
                Configuration.of(Map.of(), logs.options()),
                store,
                new Names(),
                execution,
                new Random(1),
                Metrics.NONE));
    TableProvider provider =
        ServiceLoader.load(TableProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(table -> table.name().equals("rocksdb"))
            .findFirst()
            .orElseThrow();
    this.tables =
        provider.open(Configuration.of(Map.of(), provider.options()), execution, Metrics.NONE);
    try {
      this.directory = scratch.make();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Stores puts of random keys.
   *
   * @param threads number of threads that read and replay
   */
  static StoredChangelog write(int changes, int keys, int threads) {
    StoredChangelog stored = new StoredChangelog(threads);
    stored.write(changes, keys);
    return stored;
  }

  private void write(int changes, int keys) {
    SplittableRandom random = new SplittableRandom(42);
    ByteWriter key = new ByteWriter();
    byte[] value = new byte[VALUE_BYTES];
    try (Changelog changelog = log.open(1, GROUPS, 0)) {
      for (int i = 0; i < changes; i++) {
        long number = random.nextInt(keys) * 0x9e37_79b9_7f4a_7c15L;
        key.clear();
        KeyLayout.writeState(key, (int) (number >>> 57), STATE);
        key.writeVarInt(Long.BYTES);
        key.writeLong(number);
        key.writeVarInt(0);
        for (int at = 0; at < VALUE_BYTES; at += 5) {
          value[at] = (byte) random.nextInt();
        }
        changelog.awaitRoom();
        changelog.append(Operation.PUT, key.array(), key.length(), value, VALUE_BYTES);
        if (i % CHANGES_A_PERSIST == 0) {
          execution.await(changelog.persist(0));
        }
      }
      blocks = execution.await(changelog.persist(0));
      end = changelog.nextSqn();
    }
  }

  /** Builds a table like a restore. */
  Table restore(long memoryBytes) {
    Restorer restorer =
        new Restorer(
            tables,
            format -> tables,
            new Restorer.Components(store, log, execution, Metrics.NONE, new ReplaySpeed()),
            new Restorer.Settings(memoryBytes, threads, 1 << 20));
    CheckpointHandle handle =
        new CheckpointHandle(
            1,
            GROUPS,
            GROUPS.size(),
            end,
            List.of(),
            blocks,
            new SerializerSnapshot("long", 1, new byte[0]),
            List.of());
    return restorer
        .restore(List.of(handle), GROUPS, GROUPS.size(), next(), Optional.empty())
        .table();
  }

  /** Builds a table by applying changes one by one. */
  Table putByPut() {
    Table table = tables.open(next(), GROUPS, List.of(), part -> tables.read(part));
    byte[] key = new byte[64];
    byte[] value = new byte[64];
    for (BlockRef ref : blocks) {
      ChangeBlock block = execution.await(log.read(ref, GROUPS));
      for (int keyGroup = GROUPS.from(); keyGroup < GROUPS.to(); keyGroup++) {
        ChangeCursor change = block.changes(keyGroup);
        while (change.next()) {
          System.arraycopy(change.array(), change.keyOffset(), key, 0, change.keyLength());
          System.arraycopy(change.array(), change.valueOffset(), value, 0, change.valueLength());
          table.put(key, change.keyLength(), value, change.valueLength());
        }
      }
    }
    return table;
  }

  private Path next() {
    return directory.resolve(String.valueOf(made++));
  }

  /** Deletes the files of all tables, which must be closed. */
  void deleteTables() {
    try {
      for (; made > 0; made--) {
        Scratch.delete(directory.resolve(String.valueOf(made - 1)));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    tables.close();
    log.close();
    execution.close();
    store.close();
    try {
      scratch.delete();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static final class Names implements BlobNames {
    private final AtomicLong counter = new AtomicLong();

    @Override
    public BlobName next(BlobName.Kind kind) {
      return new BlobName(incarnation(), counter.incrementAndGet(), kind);
    }

    @Override
    public Incarnation incarnation() {
      return new Incarnation(1, 1);
    }
  }
}
