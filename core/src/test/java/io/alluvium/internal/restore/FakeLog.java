package io.alluvium.internal.restore;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangeBlock;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Incarnation;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Blocks of changes in memory, one a blob. Thread-safe. */
final class FakeLog implements ChangelogStorage {

  private final Execution execution;
  private final Map<BlobName, List<Change>> blocks = new ConcurrentHashMap<>();
  private final AtomicInteger unavailable = new AtomicInteger();
  private final List<Long> reads = new ArrayList<>();
  private volatile Runnable beforeRead = () -> {};

  FakeLog(Execution execution) {
    this.execution = execution;
  }

  /** Stores changes in a block of their own; they are dense. */
  BlockRef store(List<Change> changes) {
    BlobName blob = new BlobName(new Incarnation(7, 7), blocks.size(), BlobName.Kind.LOG);
    blocks.put(blob, List.copyOf(changes));
    long from = changes.get(0).sqn();
    int size = (int) new MemoryBlock(changes).sizeBytes();
    return new BlockRef(blob, 0, size, from, changes.get(changes.size() - 1).sqn() + 1);
  }

  /** So many reads fail from now on. */
  void failReads(int count) {
    unavailable.set(count);
  }

  void beforeRead(Runnable action) {
    beforeRead = action;
  }

  /** First sequence numbers of the blocks read, in the order in which reading began. */
  List<Long> reads() {
    synchronized (reads) {
      return List.copyOf(reads);
    }
  }

  @Override
  public Changelog open(long id, KeyGroupRange keyGroups, long startSqn) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletableFuture<ChangeBlock> read(BlockRef block, KeyGroupRange keyGroups) {
    synchronized (reads) {
      reads.add(block.fromSqn());
    }
    return CompletableFuture.supplyAsync(
        () -> {
          beforeRead.run();
          if (unavailable.getAndUpdate(count -> Math.max(0, count - 1)) > 0) {
            throw StateBackendException.of(
                StateBackendException.Kind.UNAVAILABLE, "the log does not answer");
          }
          return new MemoryBlock(
              blocks.getOrDefault(block.blob(), List.of()).stream()
                  .filter(change -> keyGroups.contains(change.keyGroup()))
                  .toList());
        },
        execution.downloads());
  }

  @Override
  public Verification verify(BlobStore store, BlobName segment) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {}
}
