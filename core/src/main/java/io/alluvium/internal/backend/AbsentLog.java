package io.alluvium.internal.backend;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangeBlock;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.ChangelogStorage;
import java.util.concurrent.CompletableFuture;

/**
 * The log of a process that has the changelog off and none on its class path: asked for only when a
 * checkpoint holds changes of an earlier run. Stateless.
 */
final class AbsentLog implements ChangelogStorage {

  private final String why;

  /**
   * @param why completes the sentence "the changelog storage 'name' ..."
   */
  AbsentLog(String name, String why) {
    this.why = "the changelog storage '" + name + "' " + why;
  }

  @Override
  public Changelog open(long id, KeyGroupRange keyGroups, long startSqn) {
    throw StateBackendException.invalid(why);
  }

  @Override
  public CompletableFuture<ChangeBlock> read(BlockRef block, KeyGroupRange keyGroups) {
    return CompletableFuture.failedFuture(needed(block.blob()));
  }

  @Override
  public Verification verify(BlobStore store, BlobName segment) {
    throw needed(segment);
  }

  private StateBackendException needed(BlobName segment) {
    return StateBackendException.invalid(
        "'" + segment + "' was written with the changelog on, and is needed to read it: " + why);
  }

  @Override
  public void close() {}
}
