package io.alluvium.internal.heap;

import io.alluvium.StateBackendException;
import io.alluvium.spi.Execution;
import io.alluvium.spi.TableSnapshot;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * A snapshot in progress. {@link #advance} is confined to the task thread, writing to a background
 * thread. Their shared fields are guarded by {@code this}, which is not held across I/O.
 */
final class HeapSnapshot {

  /*
   * The task thread only pins partitions, a few at a time: constant work per partition, whatever its size. A background
   * thread sorts, writes and unpins them. Rows of a pinned partition are copied on write. A snapshot therefore costs the
   * memory of the rows that change in the partitions in flight. Partitions are pinned at different moments: the file is
   * fuzzy, and replay from the position makes it consistent.
   */

  /** No further partition is pinned while this many rows wait to be written. */
  private static final int ROWS_IN_FLIGHT = 64 << 10;

  private record Pinned(Partition partition, int rows, @Nullable Object[] contents) {}

  private final Path directory;
  private final Execution execution;
  private final CompletableFuture<TableSnapshot> done = new CompletableFuture<>();

  // Confined to the task thread.
  private final int toKeyGroup;
  private final IntFunction<KeyGroupPartitions> keyGroups;
  private int nextKeyGroup;
  private final ArrayDeque<Partition> partitions = new ArrayDeque<>();

  // Guarded by this.
  private final ArrayDeque<Pinned> queue = new ArrayDeque<>();
  private long rowsInFlight;
  private boolean allPinned;
  private boolean failed;
  private boolean writing;

  // Confined to the writing background thread, one at a time.
  private @Nullable HeapCellsWriter writer;

  /**
   * @param keyGroups the partitions of a key group in {@code [fromKeyGroup, toKeyGroup)}
   */
  HeapSnapshot(
      Path directory,
      Execution execution,
      int fromKeyGroup,
      int toKeyGroup,
      IntFunction<KeyGroupPartitions> keyGroups) {
    this.directory = directory;
    this.execution = execution;
    this.nextKeyGroup = fromKeyGroup;
    this.toKeyGroup = toKeyGroup;
    this.keyGroups = keyGroups;
  }

  CompletableFuture<TableSnapshot> done() {
    return done;
  }

  /** Pins partitions up to the bound, and starts a background thread to write them. */
  void advance() {
    if (done.isDone()) {
      return;
    }
    boolean start;
    synchronized (this) {
      while (!allPinned && rowsInFlight < ROWS_IN_FLIGHT) {
        Partition next = nextPartition();
        if (next == null) {
          allPinned = true;
        } else {
          rowsInFlight += next.rows();
          queue.add(new Pinned(next, next.rows(), next.pinAll()));
        }
      }
      start = !writing && (allPinned || !queue.isEmpty());
      writing |= start;
    }
    if (start) {
      // If no thread can be started, the snapshot fails and the task goes on.
      Execution.handOff(
          execution.materializations(),
          this::write,
          refusal ->
              abandon(
                  StateBackendException.unavailable(
                      "a snapshot of the heap table cannot be written: " + refusal.getMessage(),
                      refusal)));
    }
  }

  private @Nullable Partition nextPartition() {
    while (partitions.isEmpty() && nextKeyGroup < toKeyGroup) {
      partitions.addAll(keyGroups.apply(nextKeyGroup++).inOrder());
    }
    return partitions.poll();
  }

  private void write() {
    try {
      HeapCellsWriter to = writer;
      if (to == null) {
        if (isOver()) {
          return;
        }
        to = new HeapCellsWriter(directory);
        writer = to;
      }
      Step step = writeNext(to);
      while (step == Step.MORE) {
        step = writeNext(to);
      }
      if (step == Step.FINISH) {
        done.complete(to.finish());
      } else if (isOver()) {
        to.close();
      }
    } catch (IOException e) {
      abandon(
          StateBackendException.unavailable(
              "cannot write the table file of a snapshot to '" + directory + "': " + e.getMessage(),
              e));
    } catch (RuntimeException | Error e) {
      // The future must complete, or the materializer waits for ever.
      abandon(e);
    }
  }

  private synchronized boolean isOver() {
    return failed || done.isDone();
  }

  private enum Step {
    MORE,
    /** Nothing is queued; {@link #advance} starts the writing again. */
    PAUSE,
    FINISH
  }

  private Step writeNext(HeapCellsWriter to) throws IOException {
    Pinned next;
    synchronized (this) {
      // A failing snapshot has an empty queue before it is done, and must not be finished.
      if (isOver()) {
        return Step.PAUSE;
      }
      next = queue.poll();
      if (next == null) {
        writing = allPinned;
        return allPinned ? Step.FINISH : Step.PAUSE;
      }
    }
    try {
      to.write(next.partition, next.contents);
    } finally {
      next.partition.unpin();
      synchronized (this) {
        rowsInFlight -= next.rows;
      }
    }
    return Step.MORE;
  }

  /** Fails the snapshot. Called by the writing thread. */
  private void abandon(Throwable failure) {
    close(writer, failure);
    fail(failure);
  }

  private static void close(@Nullable HeapCellsWriter open, Throwable failure) {
    if (open != null) {
      try {
        open.close();
      } catch (IOException suppressed) {
        failure.addSuppressed(suppressed);
      }
    }
  }

  /** Fails the snapshot; the caller of the snapshot deletes the directory. Any thread. */
  void fail(Throwable failure) {
    List<Pinned> left;
    HeapCellsWriter paused;
    synchronized (this) {
      left = new ArrayList<>(queue);
      queue.clear();
      allPinned = true;
      failed = true;
      paused = writing ? null : writer;
      writing = true;
    }
    left.forEach(each -> each.partition.unpin());
    close(paused, failure);
    done.completeExceptionally(failure);
  }
}
