package io.alluvium.flink.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;

/**
 * Bytes that the threads of this process allocate in the JVM's heap, without the one that asks. Of
 * a thread that ended, what it had allocated at the last look counts. Confined to one thread.
 */
final class Allocations {

  private static final long LOOK_NANOS = 50_000_000;

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final Map<Long, Long> before = new HashMap<>();
  private final Map<Long, Long> newest = new HashMap<>();
  private long lookedNanos;

  private Allocations() {}

  /** Counts from now on. */
  static Allocations begin() {
    Allocations allocations = new Allocations();
    allocations.read();
    allocations.before.putAll(allocations.newest);
    return allocations;
  }

  /** Looks again if it is time. */
  void look() {
    if (System.nanoTime() - lookedNanos > LOOK_NANOS) {
      read();
    }
  }

  private void read() {
    lookedNanos = System.nanoTime();
    long self = Thread.currentThread().getId();
    long[] ids = threads.getAllThreadIds();
    long[] bytes = threads.getThreadAllocatedBytes(ids);
    for (int i = 0; i < ids.length; i++) {
      if (ids[i] != self && bytes[i] >= 0) {
        newest.merge(ids[i], bytes[i], Math::max);
      }
    }
  }

  /** Since the beginning. */
  long bytes() {
    read();
    long sum = 0;
    for (Map.Entry<Long, Long> thread : newest.entrySet()) {
      sum += thread.getValue() - before.getOrDefault(thread.getKey(), 0L);
    }
    return sum;
  }
}
