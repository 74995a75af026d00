package io.alluvium.spi;

import io.alluvium.KeyGroupRange;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The durable short-term log of a process: one uploader shared by the changelogs of all its
 * backends, and the reader. Thread-safe.
 */
public interface ChangelogStorage extends AutoCloseable {

  /**
   * Opens the changelog of one backend.
   *
   * @param id names the backend within the process's incarnation, written into each of its blocks
   * @param startSqn the first sequence number
   */
  Changelog open(long id, KeyGroupRange keyGroups, long startSqn);

  /**
   * Fetches and decodes one block, only the key groups asked for. Runs on {@link
   * Execution#downloads()}; every byte that is used is verified first.
   */
  CompletableFuture<ChangeBlock> read(BlockRef block, KeyGroupRange keyGroups);

  /** Verifies every byte of a segment; throws only when the store does not answer. */
  Verification verify(BlobStore store, BlobName segment);

  /**
   * What a segment turned out to hold. Immutable.
   *
   * @param blocks all of them, as the segment's index names them; empty when that cannot be read
   * @param problems what is wrong, one sentence each that names blob, offset, expected and found;
   *     empty when it is sound
   */
  record Verification(List<BlockRef> blocks, List<String> problems) {
    public Verification {
      blocks = List.copyOf(blocks);
      problems = List.copyOf(problems);
    }
  }

  @Override
  void close();
}
