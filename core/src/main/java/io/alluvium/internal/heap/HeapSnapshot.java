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
 * thread; what they share is guarded by {@code this}, not held across I/O.
 */
final class HeapSnapshot {

  /*
   * The task thread only pins cells, a few at a time: constant work per cell, whatever its size. A background thread
   * sorts a pinned cell, writes it and lets go of it. While a cell is pinned, its rows are replaced instead of changed
   * in place, so that the memory that a snapshot costs is that of the rows changed in the cells in flight. Cells are pinned
   * at different moments: the file is fuzzy, and replay from the position mends it.
   */

  /** No further cell is pinned while this many rows wait to be written. */
  private static final int ROWS_IN_FLIGHT = 64 << 10;

  private record Pinned(Cell cell, int rows, @Nullable Object[] contents) {}

  private final Path directory;
  private final Execution execution;
  private final CompletableFuture<TableSnapshot> done = new CompletableFuture<>();

  // Of the task thread.
  private final int toKeyGroup;
  private final IntFunction<KeyGroupCells> keyGroups;
  private int nextKeyGroup;
  private final ArrayDeque<Cell> cells = new ArrayDeque<>();

  // Guarded by this.
  private final ArrayDeque<Pinned> queue = new ArrayDeque<>();
  private long rowsInFlight;
  private boolean allPinned;
  private boolean failed;
  private boolean writing;

  // Of the background thread that writes, one at a time.
  private @Nullable CellFileWriter writer;

  /**
   * @param keyGroups the cells of a key group in {@code [fromKeyGroup, toKeyGroup)}
   */
  HeapSnapshot(
      Path directory,
      Execution execution,
      int fromKeyGroup,
      int toKeyGroup,
      IntFunction<KeyGroupCells> keyGroups) {
    this.directory = directory;
    this.execution = execution;
    this.nextKeyGroup = fromKeyGroup;
    this.toKeyGroup = toKeyGroup;
    this.keyGroups = keyGroups;
  }

  CompletableFuture<TableSnapshot> done() {
    return done;
  }

  /** Pins what there is room for, and sees to it that somebody writes it. */
  void advance() {
    if (done.isDone()) {
      return;
    }
    boolean start;
    synchronized (this) {
      while (!allPinned && rowsInFlight < ROWS_IN_FLIGHT) {
        Cell next = nextCell();
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
      // Also a thread that cannot be started fails the snapshot, not the task.
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

  private @Nullable Cell nextCell() {
    while (cells.isEmpty() && nextKeyGroup < toKeyGroup) {
      cells.addAll(keyGroups.apply(nextKeyGroup++).inOrder());
    }
    return cells.poll();
  }

  private void write() {
    try {
      CellFileWriter to = writer;
      if (to == null) {
        if (isOver()) {
          return;
        }
        to = new CellFileWriter(directory);
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
      // Whoever asked for the snapshot must hear of it, or waits for ever.
      abandon(e);
    }
  }

  private synchronized boolean isOver() {
    return failed || done.isDone();
  }

  private enum Step {
    MORE,
    /** Nothing to write now; `advance` starts the writing again. */
    PAUSE,
    FINISH
  }

  private Step writeNext(CellFileWriter to) throws IOException {
    Pinned next;
    synchronized (this) {
      // A snapshot that fails is not done yet, and has no more to write: it must not be finished.
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
      to.write(next.cell, next.contents);
    } finally {
      next.cell.unpin();
      synchronized (this) {
        rowsInFlight -= next.rows;
      }
    }
    return Step.MORE;
  }

  /** Ends the snapshot; by whoever writes. */
  private void abandon(Throwable failure) {
    close(writer, failure);
    fail(failure);
  }

  private static void close(@Nullable CellFileWriter open, Throwable failure) {
    if (open != null) {
      try {
        open.close();
      } catch (IOException suppressed) {
        failure.addSuppressed(suppressed);
      }
    }
  }

  /** Ends the snapshot; what was written is left to whoever asked for it. Any thread. */
  void fail(Throwable failure) {
    List<Pinned> left;
    CellFileWriter paused;
    synchronized (this) {
      left = new ArrayList<>(queue);
      queue.clear();
      allPinned = true;
      failed = true;
      paused = writing ? null : writer;
      writing = true;
    }
    left.forEach(each -> each.cell.unpin());
    close(paused, failure);
    done.completeExceptionally(failure);
  }
}
