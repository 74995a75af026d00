package io.alluvium.internal.restore;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Execution;
import io.alluvium.spi.SortedChanges;
import io.alluvium.spi.Table;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Replays the changelog of one restore onto its table (R2). Confined to the restoring thread,
 * except what it runs on the downloads' threads.
 */
final class Replayer {

  /** The blocks of the batch being applied, their coalesced entries, and blocks fetched ahead. */
  private static final int BATCHES_IN_MEMORY = 3;

  /**
   * What a replay did. Immutable.
   *
   * @param changes applied, before coalescing
   * @param bytes of the blocks, decoded
   */
  record Replayed(int blocks, long changes, long bytes, Duration time) {}

  /*
   * Blocks are fetched ahead in order and gathered into batches. A batch is cut by key groups into as many tasks as
   * shall run at once; each coalesces its share and applies it. The next batch is gathered meanwhile, and started when
   * all tasks of the one before have ended: for every key, changes are applied in order.
   *
   * Larger batches coalesce better and make fewer files of the table, so that a batch is as large as memory allows.
   */
  private final RestorePlan plan;
  private final Execution execution;
  private final BlockFetcher fetcher;
  private final LongSupplier batchBytes;
  private final List<Share> shares = new ArrayList<>();
  private volatile boolean cancelled;

  /** The key groups of one task, with what is reused from batch to batch. */
  private record Share(KeyGroupRange keyGroups, Coalescer coalescer) {}

  /** A batch that is being applied. */
  private record Running(CompletableFuture<Void> done, long bytes) {}

  /**
   * Prepares a replay.
   *
   * @param tasks how many key-group ranges are replayed at once, at least 1
   * @param memoryBytes bound on blocks and coalesced entries, as it is at the moment
   */
  Replayer(
      RestorePlan plan,
      ChangelogStorage log,
      Execution execution,
      int tasks,
      LongSupplier memoryBytes) {
    this.plan = plan;
    this.execution = execution;
    this.batchBytes = () -> memoryBytes.getAsLong() / BATCHES_IN_MEMORY;
    this.fetcher =
        new BlockFetcher(
            log, execution, plan.reads(), () -> (BATCHES_IN_MEMORY - 1) * batchBytes.getAsLong());
    int from = plan.keyGroups().from();
    int size = plan.keyGroups().size();
    int count = Math.min(tasks, size);
    for (int i = 0; i < count; i++) {
      KeyGroupRange share =
          new KeyGroupRange(
              from + (int) ((long) size * i / count), from + (int) ((long) size * (i + 1) / count));
      shares.add(new Share(share, new Coalescer()));
    }
  }

  /** No further change is applied; the replay fails soon with {@code CLOSED}. Any thread. */
  void cancel() {
    cancelled = true;
  }

  /** Begins to fetch blocks, so that the first ones are there when the table is. */
  void prefetch() {
    fetcher.fill();
  }

  /**
   * Replays everything; blocks. When this returns or throws, nothing touches the table any more.
   */
  Replayed replay(Table table) {
    long start = execution.nanoTime();
    AtomicLong changes = new AtomicLong();
    int blocks = 0;
    long bytes = 0;
    @Nullable Running running = null;
    try {
      for (List<FetchedBlock> batch = gather(); !batch.isEmpty(); batch = gather()) {
        checkGoesOn();
        long size = 0;
        for (FetchedBlock block : batch) {
          size += block.block().sizeBytes();
        }
        finish(running);
        running = new Running(apply(batch, table, changes), size);
        blocks += batch.size();
        bytes += size;
      }
      finish(running);
      checkGoesOn();
    } catch (RuntimeException | Error e) {
      cancel();
      if (running != null) {
        Reads.settle(execution, running.done());
      }
      throw e;
    }
    Duration time = Duration.ofNanos(execution.nanoTime() - start);
    return new Replayed(blocks, changes.get(), bytes, time);
  }

  private void checkGoesOn() {
    if (cancelled) {
      throw StateBackendException.closed("the restore was cancelled");
    }
  }

  private List<FetchedBlock> gather() {
    List<FetchedBlock> batch = new ArrayList<>();
    long size = 0;
    while (size < batchBytes.getAsLong() && !cancelled) {
      FetchedBlock block = fetcher.next();
      if (block == null) {
        break;
      }
      batch.add(block);
      size += block.block().sizeBytes();
    }
    return batch;
  }

  private void finish(@Nullable Running running) {
    if (running != null) {
      execution.await(running.done());
      fetcher.release(running.bytes());
    }
  }

  private CompletableFuture<Void> apply(List<FetchedBlock> batch, Table table, AtomicLong changes) {
    List<CompletableFuture<?>> tasks = new ArrayList<>();
    for (Share share : shares) {
      tasks.add(start(() -> changes.addAndGet(apply(share, batch, table))));
    }
    return CompletableFuture.allOf(tasks.toArray(new CompletableFuture<?>[0]));
  }

  /** A refusal is the task's failure, so that those already started are still waited for. */
  private CompletableFuture<?> start(Runnable task) {
    CompletableFuture<Boolean> done = new CompletableFuture<>();
    Execution.handOff(
        execution.downloads(),
        () -> {
          try {
            task.run();
            done.complete(true);
          } catch (RuntimeException | Error e) {
            done.completeExceptionally(e);
          }
        },
        done::completeExceptionally);
    return done;
  }

  private long apply(Share share, List<FetchedBlock> batch, Table table) {
    checkGoesOn();
    SortedChanges changes = share.coalescer().coalesce(batch, share.keyGroups(), plan::position);
    if (changes.entries() > 0 || !changes.rangeDeletes().isEmpty()) {
      table.apply(changes);
    }
    long count = share.coalescer().changes();
    share.coalescer().clear();
    return count;
  }
}
