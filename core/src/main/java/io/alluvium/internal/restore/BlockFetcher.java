package io.alluvium.internal.restore;

import io.alluvium.internal.restore.RestorePlan.BlockRead;
import io.alluvium.spi.ChangeBlock;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Execution;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Fetches blocks ahead, in order, within a bound on the memory that they take. Confined to the
 * restoring thread.
 */
final class BlockFetcher {

  /** Decoded against stored bytes before the first block has told; LZ4 often does as well. */
  private static final double GUESSED_RATIO = 2;

  private final ChangelogStorage log;
  private final Execution execution;
  private final Reads retries;
  private final List<BlockRead> reads;
  private final LongSupplier memoryBytes;
  private final Deque<Pending> pending = new ArrayDeque<>();
  private int started;
  private long inUseBytes;
  private double storedBytes = 1;
  private double decodedBytes = GUESSED_RATIO;

  /** A read that was started; {@code reservedBytes} of the memory are set aside for it. */
  private record Pending(
      BlockRead read, CompletableFuture<ChangeBlock> block, long reservedBytes) {}

  BlockFetcher(
      ChangelogStorage log, Execution execution, List<BlockRead> reads, LongSupplier memoryBytes) {
    this.log = log;
    this.execution = execution;
    this.retries = new Reads(execution);
    this.reads = reads;
    this.memoryBytes = memoryBytes;
  }

  /** Starts as many reads as memory allows; at least one when none is under way. */
  void fill() {
    while (started < reads.size()) {
      BlockRead read = reads.get(started);
      long reserved = (long) (read.block().length() * decodedBytes / storedBytes);
      if (inUseBytes + reserved > memoryBytes.getAsLong() && !pending.isEmpty()) {
        return;
      }
      CompletableFuture<ChangeBlock> block =
          retries.retry(() -> log.read(read.block(), read.keyGroups()));
      pending.add(new Pending(read, block, reserved));
      inUseBytes += reserved;
      started++;
    }
  }

  /** Waits for the next block; null after the last. It stays in use until it is released. */
  @Nullable FetchedBlock next() {
    fill();
    Pending first = pending.poll();
    if (first == null) {
      return null;
    }
    ChangeBlock block = execution.await(first.block());
    inUseBytes += block.sizeBytes() - first.reservedBytes();
    storedBytes += first.read().block().length();
    decodedBytes += block.sizeBytes();
    fill();
    return new FetchedBlock(block, first.read().keyGroups());
  }

  /** The blocks of that many bytes are not used any more. */
  void release(long bytes) {
    inUseBytes -= bytes;
    fill();
  }
}
