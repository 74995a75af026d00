package io.alluvium.dstl;

import io.alluvium.KeyGroupRange;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangeBlock;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Execution;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** The log of a process: its uploader and its reader. Thread-safe. */
final class DstlStorage implements ChangelogStorage {

  private final Execution execution;
  private final Uploader uploader;
  private final BlockReader reader;
  private final Set<DstlChangelog> open = ConcurrentHashMap.newKeySet();

  DstlStorage(Execution execution, Uploader uploader) {
    this.execution = execution;
    this.uploader = uploader;
    this.reader = new BlockReader(uploader.store());
  }

  @Override
  public Changelog open(long id, KeyGroupRange keyGroups, long startSqn) {
    DstlChangelog changelog =
        new DstlChangelog(
            uploader, new BlockLedger(id, keyGroups, startSqn), startSqn, open::remove);
    open.add(changelog);
    return changelog;
  }

  @Override
  public CompletableFuture<ChangeBlock> read(BlockRef block, KeyGroupRange keyGroups) {
    CompletableFuture<ChangeBlock> future = new CompletableFuture<>();
    Execution.handOff(
        execution.downloads(),
        () -> {
          try {
            future.complete(reader.read(block, keyGroups));
          } catch (RuntimeException | Error e) {
            future.completeExceptionally(e);
          }
        },
        future::completeExceptionally);
    return future;
  }

  @Override
  public Verification verify(BlobStore store, BlobName segment) {
    boolean inMemory = uploader.store() instanceof MemorySegments;
    return new SegmentVerifier(inMemory ? uploader.store() : store, segment).verify();
  }

  @Override
  public void close() {
    uploader.close();
    open.forEach(DstlChangelog::close);
  }

  /** What the buffers and bytes in flight are accounted in, for tests. */
  Uploader uploader() {
    return uploader;
  }
}
