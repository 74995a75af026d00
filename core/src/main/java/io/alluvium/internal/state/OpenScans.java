package io.alluvium.internal.state;

import io.alluvium.spi.TableScan;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Scans that iterators in the user's hands keep open. A user may drop an iterator half-way; its
 * scan (which pins native memory under RocksDB) is closed when a later one is opened after the
 * garbage collector noticed, at the latest with the table. Confined to the task thread.
 */
final class OpenScans {

  private final ReferenceQueue<Object> dropped = new ReferenceQueue<>();
  private final Set<Lease> leases = new HashSet<>();

  /** An open scan and who reads it. */
  final class Lease extends WeakReference<Object> {

    private final TableScan scan;

    private Lease(Object owner, TableScan scan) {
      super(owner, dropped);
      this.scan = scan;
    }

    void close() {
      if (leases.remove(this)) {
        scan.close();
      }
    }
  }

  /** Keeps {@code scan} until its lease is closed or {@code owner} is unreachable. */
  Lease open(Object owner, TableScan scan) {
    closeDropped();
    Lease lease = new Lease(owner, scan);
    leases.add(lease);
    return lease;
  }

  private void closeDropped() {
    for (@Nullable Reference<?> next = dropped.poll(); next != null; next = dropped.poll()) {
      ((Lease) next).close();
    }
  }

  int size() {
    return leases.size();
  }
}
