package io.alluvium.internal.materialize;

import io.alluvium.StateBackendException;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Pace;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.ToLongFunction;

/**
 * Spreads what the materializations on the same threads store over most of their interval, instead
 * of one burst for each. Thread-safe; guarded by {@code this}, which is not held while anybody
 * waits.
 */
public final class UploadPacer {

  /*
   * All spread uploads of the process share one token bucket; its rate is the greater of
   *   1. the sum of what each backend stores in its interval, divided by the part of it that uploads may take. Each is
   *      judged by what it stored lately (compactions make single uploads uneven), except that a first upload, which is of
   *      a whole table, says nothing about later ones: until its next a backend is judged by the others;
   *   2. what is needed so that each upload that waits or runs, one after the other as they became due, ends before its
   *      deadline, which is an interval after it became due.
   * The first keeps the rate even, whoever uploads at the moment; the second catches up when a guess was wrong or the
   * process fell behind. Those who have the same bandwidth cap share another bucket, of that rate. While somebody waits for
   * an upload that is not paced, which may stand behind paced ones, nothing is paced.
   *
   * A bucket is kept as a debt: a piece may be sent while the debt is small, and adds its size. So the first piece goes at
   * once, and what is small altogether is never held up. What goes unpaced is a debt for the cap only: nobody expected it,
   * and those who are spread would have to pay for it.
   *
   * Pieces that wait for the same buckets stand in one lane. Only the first of a lane has a timer; when it leaves, the next
   * becomes the first and is woken. So the work is that of the pieces, however many wait.
   */

  /** What part of the interval uploads may take. */
  private static final double PART_OF_INTERVAL = 0.8;

  /** Debt that holds nobody up. */
  private static final long SMALL_BYTES = 256L << 10;

  /** Of an interval: uploads that are late go that fast at most. */
  private static final double LATE_PART = 0.02;

  /** To end an upload that is not spread, so that what is behind it need not wait either. */
  private static final double SHORTEST_SECONDS = 0.001;

  private static final long LONGEST_WAIT_NANOS = Duration.ofSeconds(1).toNanos();
  private static final long NANOS = Duration.ofSeconds(1).toNanos();
  private static final long UNKNOWN = -1;

  /** Until woken. */
  private static final long NOT_FIRST = -1;

  /**
   * What the user of a backend chose.
   *
   * @param interval of materializations; zero or less = uploads are not spread
   * @param bytesPerSecond never faster than this; 0 = no such bound
   */
  public record Settings(Duration interval, long bytesPerSecond) {
    boolean spreads() {
      return !interval.isZero() && !interval.isNegative();
    }

    private double intervalSeconds() {
      return (double) interval.toNanos() / NANOS;
    }

    private boolean isCapped() {
      return bytesPerSecond > 0;
    }
  }

  /** One backend's part in it. Guarded by the {@link UploadPacer} that it belongs to. */
  public final class Share {
    private final Settings settings;
    private long firstBytes = UNKNOWN;
    private long laterBytes = UNKNOWN;
    private boolean due;
    private long order;
    private long deadlineNanos;
    private long leftBytes;
    private boolean closed;
    private final Deque<Turn> lane;

    private Share(Settings settings, Deque<Turn> lane) {
      this.settings = settings;
      this.lane = lane;
    }

    /** An upload is due by the clock and may take its part of the interval. */
    public void due() {
      due(execution.nanoTime() + (settings.spreads() ? settings.interval().toNanos() : 0));
    }

    /** An upload is due, and somebody needs it soon. */
    public void dueSoon() {
      due(execution.nanoTime());
    }

    private void due(long deadline) {
      synchronized (UploadPacer.this) {
        due = true;
        order = ++orders;
        deadlineNanos = deadline;
        leftBytes = UNKNOWN;
      }
    }

    /** The upload that was due begins. */
    public Pace begin(long bytes) {
      synchronized (UploadPacer.this) {
        if (firstBytes == UNKNOWN) {
          firstBytes = bytes;
        } else {
          laterBytes = laterBytes == UNKNOWN ? bytes : (laterBytes + bytes) / 2;
        }
        leftBytes = bytes;
      }
      return this::await;
    }

    /** The upload that is due or under way, if there is one, is needed soon after all. */
    public void hurry() {
      List<CompletableFuture<Boolean>> woken = new ArrayList<>();
      synchronized (UploadPacer.this) {
        if (!due) {
          return;
        }
        deadlineNanos = Math.min(deadlineNanos, execution.nanoTime());
        // The rate is another now, for all.
        for (Deque<Turn> each : lanes.values()) {
          each.stream().limit(1).forEach(turn -> woken.add(turn.over));
        }
      }
      woken.forEach(each -> each.complete(true));
    }

    /** It has ended, or there was nothing to store. */
    public void end() {
      synchronized (UploadPacer.this) {
        due = false;
      }
    }

    private void await(long bytes) {
      Turn turn = new Turn(this);
      try {
        while (true) {
          CompletableFuture<Boolean> over;
          long nanos;
          synchronized (UploadPacer.this) {
            if (closed) {
              throw StateBackendException.closed(
                  "the backend was closed while its table was stored");
            }
            nanos = urgent > 0 ? 0 : nanosUntil(turn);
            if (nanos == 0) {
              sent(bytes);
              return;
            }
            over = new CompletableFuture<>();
            turn.over = over;
          }
          pause(over, nanos);
        }
      } finally {
        leave(turn);
      }
    }

    /** How long until a piece may be sent; it stands in the lane from then on. */
    private long nanosUntil(Turn turn) {
      synchronized (UploadPacer.this) {
        Turn first = lane.peekFirst();
        long nanos = first == null || first == turn ? nanosUntilFree(settings) : NOT_FIRST;
        if (nanos != 0 && !turn.queued) {
          lane.addLast(turn);
          turn.queued = true;
        }
        return nanos;
      }
    }

    private void pause(CompletableFuture<Boolean> over, long nanos) {
      if (nanos == NOT_FIRST) {
        Boolean unused = execution.await(over);
        return;
      }
      // Without a timer nobody would end the pause: the upload fails, and is made again later.
      Execution.Scheduled timer =
          Execution.handOff(
              execution,
              Duration.ofNanos(nanos),
              () -> over.complete(true),
              over::completeExceptionally);
      try {
        Boolean unused = execution.await(over);
      } finally {
        timer.cancel();
      }
    }

    /** However it ends, the next of the lane takes its place. */
    private void leave(Turn turn) {
      CompletableFuture<Boolean> woken;
      synchronized (UploadPacer.this) {
        boolean wasFirst = lane.peekFirst() == turn;
        if (!turn.queued || !lane.remove(turn) || !wasFirst) {
          return;
        }
        Turn next = lane.peekFirst();
        if (next == null) {
          return;
        }
        woken = next.over;
      }
      woken.complete(true);
    }

    private void sent(long bytes) {
      synchronized (UploadPacer.this) {
        leftBytes = Math.max(0, leftBytes - bytes);
        if (settings.spreads() && urgent == 0) {
          spread.bytes += bytes;
        }
        if (settings.isCapped()) {
          capped(settings.bytesPerSecond()).bytes += bytes;
        }
      }
    }

    /** Somebody waits for an upload that is not paced, until {@link #endUrgent}. */
    public void beginUrgent() {
      List<CompletableFuture<Boolean>> woken = new ArrayList<>();
      synchronized (UploadPacer.this) {
        urgent++;
        for (Deque<Turn> each : lanes.values()) {
          each.forEach(turn -> woken.add(turn.over));
        }
      }
      woken.forEach(each -> each.complete(true));
    }

    /** Nobody waits for that upload any more. */
    public void endUrgent() {
      synchronized (UploadPacer.this) {
        urgent--;
      }
    }

    /** The backend is gone; whoever waits on its behalf fails. Idempotent. */
    public void close() {
      List<CompletableFuture<Boolean>> woken = new ArrayList<>();
      synchronized (UploadPacer.this) {
        closed = true;
        due = false;
        shares.remove(this);
        lane.stream().filter(turn -> turn.share == this).forEach(turn -> woken.add(turn.over));
      }
      woken.forEach(each -> each.complete(true));
    }
  }

  /** What a piece waits for: pieces of one lane may be sent at the same time. */
  private record Lane(boolean spreads, long bytesPerSecond) {
    Lane(Settings settings) {
      this(settings.spreads(), Math.max(0, settings.bytesPerSecond()));
    }
  }

  /** A piece that waits. Guarded by the {@link UploadPacer} that it belongs to. */
  private static final class Turn {
    private final Share share;
    private boolean queued;
    private CompletableFuture<Boolean> over = new CompletableFuture<>();

    Turn(Share share) {
      this.share = share;
    }
  }

  /** Of the executions in use; who uses a pacer holds it, and it its execution. */
  private static final Map<Execution, WeakReference<UploadPacer>> SHARED = new WeakHashMap<>();

  private final Execution execution;
  private final Set<Share> shares = new LinkedHashSet<>();
  private long orders;
  private int urgent;
  private final Debt spread;

  /** The pieces that wait, in their order. */
  private final Map<Lane, Deque<Turn>> lanes = new HashMap<>();

  /** By the cap, in bytes per second. */
  private final Map<Long, Debt> capped = new HashMap<>();

  public UploadPacer(Execution execution) {
    this.execution = execution;
    this.spread = new Debt(execution.nanoTime());
  }

  /**
   * The one of all process backends that run on the same threads, as those in one TaskManager do:
   * an upload that waits for its pace keeps a thread, and so it must know of everybody who may wait
   * behind it.
   */
  public static UploadPacer of(Execution execution) {
    synchronized (SHARED) {
      WeakReference<UploadPacer> known = SHARED.get(execution);
      UploadPacer pacer = known == null ? null : known.get();
      if (pacer == null) {
        pacer = new UploadPacer(execution);
        SHARED.put(execution, new WeakReference<>(pacer));
      }
      return pacer;
    }
  }

  /** The part of a new backend. */
  public Share share(Settings settings) {
    synchronized (this) {
      Deque<Turn> lane = lanes.computeIfAbsent(new Lane(settings), unused -> new ArrayDeque<>());
      Share share = new Share(settings, lane);
      shares.add(share);
      return share;
    }
  }

  /** A token bucket, upside down. */
  private static final class Debt {
    private double bytes;
    private long atNanos;

    Debt(long nanos) {
      this.atNanos = nanos;
    }

    /** How long until it is small; at most until somebody should look again. */
    long nanosUntilSmall(double rate, long now) {
      bytes = Math.max(0, bytes - rate * (now - atNanos) / NANOS);
      atNanos = now;
      if (bytes <= SMALL_BYTES) {
        return 0;
      }
      long nanos = (long) ((bytes - SMALL_BYTES) / rate * NANOS);
      return Math.max(1, Math.min(nanos, LONGEST_WAIT_NANOS));
    }
  }

  private synchronized Debt capped(long bytesPerSecond) {
    return capped.computeIfAbsent(bytesPerSecond, unused -> new Debt(execution.nanoTime()));
  }

  private synchronized long nanosUntilFree(Settings settings) {
    long now = execution.nanoTime();
    long nanos = 0;
    if (settings.spreads()) {
      nanos = spread.nanosUntilSmall(Math.max(spreadBytesPerSecond(now), 1), now);
    }
    if (settings.isCapped()) {
      long cap = settings.bytesPerSecond();
      nanos = Math.max(nanos, capped(cap).nanosUntilSmall((double) cap, now));
    }
    return nanos;
  }

  /** The rate that spreads the uploads of those who want it, and ends what is due in time. */
  private synchronized double spreadBytesPerSecond(long now) {
    Guess guess = guess();
    double rate = 0;
    List<Share> due = new ArrayList<>();
    for (Share share : shares) {
      if (share.due) {
        due.add(share);
      }
      if (share.settings.spreads()) {
        rate += guess.of(share) / (share.settings.intervalSeconds() * PART_OF_INTERVAL);
      }
    }
    due.sort(Comparator.comparingLong(share -> share.order));
    double before = 0;
    for (Share share : due) {
      if (!share.settings.spreads() && share.leftBytes != UNKNOWN) {
        // It has a thread, and waits for nobody.
        continue;
      }
      before += share.leftBytes == UNKNOWN ? guess.of(share) : share.leftBytes;
      double left = (double) (share.deadlineNanos - now) / NANOS;
      double late = share.settings.intervalSeconds() * LATE_PART;
      rate = Math.max(rate, before / Math.max(Math.max(left, late), SHORTEST_SECONDS));
    }
    return rate;
  }

  /** What a backend whose own uploads say nothing is expected to store. */
  private record Guess(double typicalFirst, double typicalLater) {
    double of(Share share) {
      if (share.laterBytes != UNKNOWN) {
        return share.laterBytes;
      }
      if (typicalLater >= 0) {
        return typicalLater;
      }
      return share.firstBytes == UNKNOWN ? Math.max(0, typicalFirst) : share.firstBytes;
    }
  }

  private synchronized Guess guess() {
    return new Guess(typical(share -> share.firstBytes), typical(share -> share.laterBytes));
  }

  /** The mean of what is known; {@link #UNKNOWN} when nothing is. */
  private synchronized double typical(ToLongFunction<Share> bytes) {
    long sum = 0;
    long known = 0;
    for (Share share : shares) {
      if (bytes.applyAsLong(share) != UNKNOWN) {
        sum += bytes.applyAsLong(share);
        known++;
      }
    }
    return known == 0 ? UNKNOWN : (double) sum / known;
  }
}
