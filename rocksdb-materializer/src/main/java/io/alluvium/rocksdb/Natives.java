package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.rocksdb.AbstractNativeReference;

/**
 * Native objects of one owner, closed in reverse order of their creation. A half-built owner closes
 * what it has by closing this. Confined to one thread at a time; only the count is shared.
 */
class Natives implements AutoCloseable {

  private final AtomicInteger live;
  private final Deque<AutoCloseable> open = new ArrayDeque<>();

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
    try {
      open.push(reference);
    } catch (Error e) {
      // Without memory to remember it.
      reference.close();
      throw e;
    }
    live.incrementAndGet();
    return reference;
  }

  /**
   * A collection for handles of others, which are closed in the order of their addition, after all
   * that is added here later.
   */
  Collection<AutoCloseable> handles() {
    List<AutoCloseable> handles = new ArrayList<>();
    open.push(
        () -> {
          try (Natives reversed = new Natives(new AtomicInteger())) {
            for (int i = handles.size() - 1; i >= 0; i--) {
              reversed.open.push(handles.get(i));
            }
            handles.clear();
          }
        });
    live.incrementAndGet();
    return handles;
  }

  /** Closes everything; the first failure is thrown, later ones are suppressed. Idempotent. */
  @Override
  public void close() {
    RuntimeException first = null;
    while (!open.isEmpty()) {
      AutoCloseable reference = open.pop();
      live.decrementAndGet();
      try {
        reference.close();
      } catch (Exception | Error e) {
        if (first == null) {
          first =
              e instanceof RuntimeException unchecked
                  ? unchecked
                  : StateBackendException.of(
                      StateBackendException.Kind.INTERNAL, "cannot close a handle", e);
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
