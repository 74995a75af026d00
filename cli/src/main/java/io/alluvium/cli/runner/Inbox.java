package io.alluvium.cli.runner;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What waits for a subtask: one bounded channel per source and one from the coordinator. A channel
 * whose barrier came is held back until those of the others have come too. Thread-safe; guarded by
 * {@code lock}.
 *
 * <p>Sources only send and subtasks only receive, so a full channel can never close a circle: the
 * subtask empties every channel that is not held back, and a channel is held back only while a
 * barrier of another, unhindered source is on its way.
 */
final class Inbox {

  private static final int MAX_MESSAGES = 16;

  /** A received message and where it came from. Immutable. */
  record Received(int channel, Message message) {}

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition notEmpty = lock.newCondition();
  private final Condition notFull = lock.newCondition();

  @GuardedBy("lock")
  private final List<ArrayDeque<Message>> channels = new ArrayList<>();

  @GuardedBy("lock")
  private final boolean[] held;

  @GuardedBy("lock")
  private int nextChannel;

  Inbox(int channelCount) {
    for (int i = 0; i < channelCount; i++) {
      channels.add(new ArrayDeque<>());
    }
    held = new boolean[channelCount];
  }

  /** Adds a message; waits while its channel is full. */
  void put(int channel, Message message) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      ArrayDeque<Message> queue = channels.get(channel);
      while (queue.size() >= MAX_MESSAGES) {
        notFull.await();
      }
      queue.add(message);
      notEmpty.signal();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes the next message, the channels in turns; {@code null} when none comes within the time.
   */
  @Nullable Received poll(long timeoutMillis) throws InterruptedException {
    long nanos = TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    lock.lockInterruptibly();
    try {
      while (true) {
        for (int i = 0; i < channels.size(); i++) {
          int channel = (nextChannel + i) % channels.size();
          if (held[channel]) {
            continue;
          }
          Message message = channels.get(channel).poll();
          if (message != null) {
            nextChannel = channel + 1;
            notFull.signalAll();
            return new Received(channel, message);
          }
        }
        if (nanos <= 0) {
          return null;
        }
        nanos = notEmpty.awaitNanos(nanos);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Holds a channel back; called by the subtask. */
  void hold(int channel) {
    lock.lock();
    try {
      held[channel] = true;
    } finally {
      lock.unlock();
    }
  }

  /** Lets all channels go on; called by the subtask. */
  void releaseAll() {
    lock.lock();
    try {
      java.util.Arrays.fill(held, false);
    } finally {
      lock.unlock();
    }
  }
}
