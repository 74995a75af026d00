package io.alluvium.flink;

import io.alluvium.StateBackendException;
import io.alluvium.bytes.ByteBackend;
import io.alluvium.spi.Execution;
import io.alluvium.spi.ListOperands;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongConsumer;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.function.ThrowingRunnable;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes expired entries of the states of one keyed backend beside its task, at a pace. Confined
 * to the task thread, except {@link #close} and what is marked.
 */
final class Sweeper implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Sweeper.class);

  /*
   * Each state is walked round and round, a key group at a time, so that every key group has its turn once in the state's
   * interval. A turn takes steps of three parts:
   *
   *   task thread     opens a scan, which reads nothing yet
   *   background      walks it and copies the keys whose values have expired; closes it
   *   task thread     looks at each of these again, since the task may have written it meanwhile, and removes it
   *
   * Only the task thread writes, on the one way that its own writes take. So a checkpoint holds a removal or not, as it
   * does with any other change. The task thread is reached by mail, which is taken out between two records, also of a task
   * that has none to process. One part waits for the other: there is never more than one scan, one list of keys, one mail.
   *
   * After each part there is a rest of nine times as long, which bounds the share of the task's time and of a background
   * thread's. A sweep that is behind its plan, because much expires, rests as long as it worked.
   */

  /** A scan pins files of the table; it is closed after so many entries and opened again later. */
  private static final int MOST_ENTRIES = 1 << 16;

  /** Bounds the memory for keys that were found. */
  private static final int MOST_FOUND = 4096;

  /** How long the task thread removes at a time. */
  private static final long SLICE_NANOS = 500_000;

  /** Removals between two looks at the clock. */
  private static final int BETWEEN_LOOKS = 8;

  private static final long SHORTEST_REST_NANOS = 1_000_000;

  /** How long it rests after a part, in times of that. */
  private static final int REST = 9;

  private static final int REST_WHEN_BEHIND = 1;

  /**
   * What it works with.
   *
   * @param task runs on the task thread; null outside of a task, where nothing is swept
   * @param removed is told how many entries or lists were removed or made shorter
   */
  record Parts(
      ByteBackend bytes,
      TtlTimeProvider time,
      Execution execution,
      @Nullable MailboxExecutor task,
      LongConsumer removed) {}

  /** A state and how far it has been swept. */
  private static final class Swept {
    final KvState<?, ?, ?> state;
    final Expiry expiry;
    final long intervalNanos;
    int keyGroup;

    /** The key to go on behind; null at the beginning of a key group. */
    byte @Nullable [] last;

    /** When the key group has its turn. */
    long dueNanos;

    Swept(KvState<?, ?, ?> state, Expiry expiry, int firstKeyGroup) {
      this.state = state;
      this.expiry = expiry;
      this.intervalNanos = expiry.interval().toNanos();
      this.keyGroup = firstKeyGroup;
    }

    boolean isBehind(long nowNanos) {
      return nowNanos - dueNanos > intervalNanos / 4;
    }
  }

  /**
   * What a walk found.
   *
   * @param last where to go on; null when the key group ended
   */
  private record Found(List<byte[]> keys, byte @Nullable [] last, long walkNanos) {}

  private final Parts parts;
  private final List<Swept> states = new ArrayList<>();
  private Execution.@Nullable Scheduled waiting;

  /** Tells the planned part from one that another plan replaced, or that was run already. */
  private long plan;

  /** The planned part, when it was refused a timer, and when it is due. */
  private @Nullable Runnable untimed;

  private long untimedDueNanos;

  /** Whether a step is under way. */
  private boolean stepping;

  private volatile @Nullable GuardedScan scan;
  private volatile boolean closed;

  Sweeper(Parts parts) {
    this.parts = parts;
  }

  /** Sweeps a state from now on, once in each interval. */
  void start(KvState<?, ?, ?> state, Expiry expiry) {
    if (parts.task == null) {
      LOG.debug("no task, so no clean-up of expired entries of state '{}'", state.name);
      return;
    }
    Swept swept = new Swept(state, expiry, parts.bytes.keyGroups().from());
    swept.dueNanos = parts.execution.nanoTime() + turnNanos(swept);
    states.add(swept);
    if (!stepping) {
      planNext(0);
    }
  }

  /** Sweeps a state no more; what was found of it and not removed yet stays. */
  void stop(KvState<?, ?, ?> state) {
    states.removeIf(swept -> swept.state == state);
  }

  private long turnNanos(Swept swept) {
    return swept.intervalNanos / parts.bytes.keyGroups().size();
  }

  private void planNext(long restNanos) {
    stepping = false;
    if (waiting != null) {
      waiting.cancel();
    }
    Swept next = nextDue();
    if (next != null && !closed) {
      onTaskLater(
          Math.max(
              Math.max(restNanos, SHORTEST_REST_NANOS), next.dueNanos - parts.execution.nanoTime()),
          this::step);
    }
  }

  private @Nullable Swept nextDue() {
    Swept next = null;
    for (Swept each : states) {
      if (next == null || each.dueNanos - next.dueNanos < 0) {
        next = each;
      }
    }
    return next;
  }

  private void onTaskLater(long delayNanos, ThrowingRunnable<IOException> part) {
    long planned = ++plan;
    untimed = null;
    Runnable due = () -> onTask(() -> runPlanned(planned, part));
    waiting =
        Execution.handOff(
            parts.execution,
            Duration.ofNanos(delayNanos),
            due,
            refusal -> untimed(delayNanos, due, refusal));
  }

  private void runPlanned(long planned, ThrowingRunnable<IOException> part) throws IOException {
    if (planned == plan) {
      plan++;
      untimed = null;
      part.run();
    }
  }

  private void untimed(long delayNanos, Runnable due, StateBackendException refusal) {
    untimed = due;
    untimedDueNanos = parts.execution.nanoTime() + delayNanos;
    LOG.debug("a checkpoint goes on with the clean-up: {}", refusal.getMessage());
  }

  /** Goes on with what is due and was refused a timer, if there is any; at each checkpoint. */
  void catchUp() {
    Runnable due = untimed;
    if (due != null && parts.execution.nanoTime() - untimedDueNanos >= 0) {
      untimed = null;
      due.run();
    }
  }

  /** Any thread. */
  private void onTask(ThrowingRunnable<IOException> part) {
    MailboxExecutor task = parts.task;
    if (task != null && !closed) {
      try {
        task.execute(() -> runUnlessClosed(part), "clean-up of expired state");
      } catch (RejectedExecutionException e) {
        LOG.debug("the task takes no more mail: {}", e.toString());
      }
    }
  }

  private void runUnlessClosed(ThrowingRunnable<IOException> part) throws IOException {
    try {
      if (!closed) {
        part.run();
      }
    } catch (IOException | RuntimeException e) {
      // What is closed meanwhile, by whichever thread, fails no task.
      if (!closed) {
        throw e;
      }
    }
  }

  private void step() {
    Swept swept = nextDue();
    if (swept == null) {
      return;
    }
    stepping = true;
    byte[] prefix = RowWalk.prefix(swept.keyGroup, swept.state.id);
    byte[] from = swept.last == null ? prefix : swept.last;
    GuardedScan opened =
        new GuardedScan(parts.bytes.scanFrom(prefix, prefix.length, from, from.length));
    scan = opened;
    if (closed) {
      opened.close();
      return;
    }
    long now = parts.time.currentTimestamp();
    Execution.handOff(
        parts.execution.downloads(),
        () -> walk(swept, opened, now),
        refusal -> {
          opened.close();
          walked(swept, failed(swept, refusal));
        });
  }

  /** In the background. */
  private void walk(Swept swept, GuardedScan opened, long now) {
    parts.execution.giveWay();
    long start = parts.execution.nanoTime();
    Found found;
    try (opened) {
      found = find(swept, opened, now, start);
    } catch (IOException | RuntimeException | VirtualMachineError | LinkageError e) {
      found = failed(swept, e);
    }
    walked(swept, found);
  }

  /** As if nothing had been found: the key group has its turn again in the next interval. */
  private Found failed(Swept swept, Throwable failure) {
    if (!closed) {
      LOG.warn(
          "key group {} of state '{}' cannot be searched for expired entries; it is tried again in"
              + " {} ms",
          swept.keyGroup,
          swept.state.name,
          swept.expiry.interval().toMillis(),
          failure);
    }
    return new Found(List.of(), null, 0);
  }

  private void walked(Swept swept, Found found) {
    onTask(() -> remove(swept, found, 0));
  }

  private Found find(Swept swept, GuardedScan opened, long now, long start) throws IOException {
    List<byte[]> keys = new ArrayList<>();
    ListOperands operands = new ListOperands();
    byte[] after = swept.last;
    int entries = 0;
    byte[] last = null;
    while (last == null && opened.next()) {
      boolean seen =
          after != null
              && Arrays.equals(opened.key(), 0, opened.keyLength(), after, 0, after.length);
      if (!seen && swept.expiry.isExpiredIn(opened.value(), opened.valueLength(), now, operands)) {
        keys.add(Arrays.copyOf(opened.key(), opened.keyLength()));
      }
      if (++entries == MOST_ENTRIES || keys.size() == MOST_FOUND) {
        last = Arrays.copyOf(opened.key(), opened.keyLength());
      }
    }
    return new Found(keys, last, parts.execution.nanoTime() - start);
  }

  private void remove(Swept swept, Found found, int from) throws IOException {
    scan = null;
    if (!states.contains(swept)) {
      planNext(0);
      return;
    }
    long start = parts.execution.nanoTime();
    long worked = 0;
    int next = from;
    int removed = 0;
    while (next < found.keys().size() && worked < SLICE_NANOS) {
      if (swept.state.removeExpired(found.keys().get(next++), swept.expiry, parts.time)) {
        removed++;
      }
      if (next % BETWEEN_LOOKS == 0) {
        worked = parts.execution.nanoTime() - start;
      }
    }
    if (removed > 0) {
      parts.removed.accept(removed);
    }
    long now = parts.execution.nanoTime();
    long rest = swept.isBehind(now) ? REST_WHEN_BEHIND : REST;
    if (next < found.keys().size()) {
      int goOn = next;
      onTaskLater(rest * (now - start), () -> remove(swept, found, goOn));
    } else {
      turnTo(swept, found.last(), now);
      planNext(rest * Math.max(now - start, found.walkNanos()));
    }
  }

  private void turnTo(Swept swept, byte @Nullable [] last, long now) {
    swept.last = last;
    if (last == null) {
      int next = swept.keyGroup + 1;
      swept.keyGroup = next < parts.bytes.keyGroups().to() ? next : parts.bytes.keyGroups().from();
      // What could not be done in an interval is not made up for.
      swept.dueNanos =
          Math.max(swept.dueNanos + turnNanos(swept) - now, -swept.intervalNanos) + now;
    }
  }

  /** Nothing is read or written any more; idempotent. Any thread. */
  @Override
  public void close() {
    closed = true;
    GuardedScan open = scan;
    if (open != null) {
      open.close();
    }
  }
}
