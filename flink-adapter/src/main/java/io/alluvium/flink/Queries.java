package io.alluvium.flink;

import io.alluvium.StateBackendException;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.flink.util.function.SupplierWithException;
import org.jspecify.annotations.Nullable;

/**
 * Reads of Flink's queryable state, which come from threads of its own at any time: never while the
 * table is closed, whose memory may be native. A table in the heap is not made for them.
 * Thread-safe.
 */
final class Queries implements AutoCloseable {

  private final ReadWriteLock closing = new ReentrantReadWriteLock();
  private boolean closed;

  /** Answers a query; a null answer is one. */
  <T extends @Nullable Object> T answer(SupplierWithException<T, Exception> query)
      throws Exception {
    closing.readLock().lock();
    try {
      if (closed) {
        throw StateBackendException.closed("the keyed backend is closed");
      }
      return query.get();
    } finally {
      closing.readLock().unlock();
    }
  }

  /** Waits for queries that are being answered; later ones fail. */
  @Override
  public void close() {
    closing.writeLock().lock();
    try {
      closed = true;
    } finally {
      closing.writeLock().unlock();
    }
  }
}
