package io.alluvium.internal.backend;

import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Operation;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * The changelog that is switched off: it only counts, because list operands carry sequence numbers
 * in every checkpoint and the log may be switched on again (P4, P7). Confined to the task thread.
 */
final class DisabledChangelog implements Changelog {

  private long nextSqn;

  DisabledChangelog(long startSqn) {
    nextSqn = startSqn;
  }

  @Override
  public void awaitRoom() {}

  @Override
  public void append(
      Operation operation, byte[] key, int keyLength, byte[] value, int valueLength) {
    nextSqn++;
  }

  @Override
  public long nextSqn() {
    return nextSqn;
  }

  @Override
  public long seal() {
    return nextSqn;
  }

  @Override
  public CompletableFuture<List<BlockRef>> persist(long from) {
    return CompletableFuture.completedFuture(List.of());
  }

  @Override
  public long durableUpTo() {
    return 0;
  }

  @Override
  public void trim(long sqn) {}

  @Override
  public long bytesSince(long sqn) {
    return 0;
  }

  @Override
  public Set<BlobName> liveBlobs() {
    return Set.of();
  }

  @Override
  public void close() {}
}
