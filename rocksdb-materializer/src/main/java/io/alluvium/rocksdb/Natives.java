package io.alluvium.rocksdb;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicInteger;
import org.rocksdb.AbstractNativeReference;

/**
 * Native objects of one owner, closed in reverse order of their creation. A half-built owner closes
 * what it has by closing this. Confined to one thread at a time; only the count is shared.
 */
final class Natives implements AutoCloseable {

  private final AtomicInteger live;
  private final Deque<AbstractNativeReference> open = new ArrayDeque<>();

  /**
   * @param live how many native objects the process holds, counted up and down by all owners
   */
  Natives(AtomicInteger live) {
    this.live = live;
  }

  /** An owner that counts together with this one. */
  Natives sibling() {
    return new Natives(live);
  }

  <T extends AbstractNativeReference> T add(T reference) {
    open.push(reference);
    live.incrementAndGet();
    return reference;
  }

  /** Closes everything; the first failure is thrown, later ones are suppressed. Idempotent. */
  @Override
  public void close() {
    RuntimeException first = null;
    while (!open.isEmpty()) {
      AbstractNativeReference reference = open.pop();
      live.decrementAndGet();
      try {
        reference.close();
      } catch (RuntimeException e) {
        if (first == null) {
          first = e;
        } else {
          first.addSuppressed(e);
        }
      }
    }
    if (first != null) {
      throw first;
    }
  }
}
