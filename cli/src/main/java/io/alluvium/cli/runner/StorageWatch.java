package io.alluvium.cli.runner;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.cli.input.JobException;
import io.alluvium.config.Durations;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a job whose checkpoints are refused goes on, and tells about it: one line at the
 * beginning, one now and then, one at the end. Confined to the coordinator's thread.
 */
final class StorageWatch {

  /*
   * 1. Storage behind a network that does not answer, or asks for fewer requests, may come back by itself. The job goes on
   *    for as long as is tolerated: its tasks fill the memory of the changelog and then wait, so that nothing grows, and
   *    what they sealed is stored as soon as the store answers.
   * 2. What a person must mend ends the job, though not the first time, because rights take their time to reach every
   *    server of a store: after some checkpoints in a row; or, as tasks that wait for room never reach the barrier of a
   *    checkpoint that could fail, after a while in which storage refused every upload.
   * 3. A local directory has no outages: whatever it refuses (full, not there any more) is for a person.
   */
  private static final int MAX_REFUSALS = 3;

  private static final Duration STUCK = Duration.ofSeconds(30);

  private static final long TOLD_EVERY_NANOS = Duration.ofSeconds(30).toNanos();

  private static final String AGAIN =
      "run the same command again: it resumes from the newest confirmed checkpoint";

  private final MemoryMetrics metrics;
  private final String directory;
  private final Duration tolerated;
  private final RunListener listener;

  private long stored = -1;
  private long failuresBefore;
  private long refusalsBefore;
  private long sinceNanos;

  /** Absent as long as all is well. */
  private @Nullable Outage outage;

  /** Since when storage refuses, and what came of it. */
  private static final class Outage {
    private final long sinceNanos;
    private long toldNanos;
    private int checkpoints;
    private int refusals;

    private Outage(long sinceNanos, long nowNanos) {
      this.sinceNanos = sinceNanos;
      this.toldNanos = nowNanos;
    }
  }

  /**
   * Watches from the first call on.
   *
   * @param directory where checkpoints go, for messages
   * @param tolerated how long an outage may last; zero when there are none, only refusals
   */
  StorageWatch(MemoryMetrics metrics, String directory, Duration tolerated, RunListener listener) {
    this.metrics = metrics;
    this.directory = directory;
    this.tolerated = tolerated;
    this.listener = listener;
  }

  /** A wait for tasks begins: what happened before does not count for {@link #check}. */
  void reset() {
    stored = -1;
  }

  /**
   * Throws when uploads failed and none succeeded for too long; called while tasks are waited for,
   * which may be held back because the changelog cannot be stored.
   */
  void check(long nowNanos) {
    long storedNow = metrics.count("changelog.upload.segments");
    long failures = metrics.count("changelog.upload.failures") - failuresBefore;
    long refusals = metrics.count("changelog.upload.refusals") - refusalsBefore;
    if (storedNow != stored) {
      stored = storedNow;
      failuresBefore += failures;
      refusalsBefore += refusals;
      sinceNanos = nowNanos;
      return;
    }
    if (failures == 0) {
      return;
    }
    boolean passes = refusals == 0 && !tolerated.isZero();
    long waited = nowNanos - sinceNanos;
    if (waited > (passes ? tolerated : STUCK).toNanos()) {
      throw new JobException(
          "the changelog could not be stored in '"
              + directory
              + "' for "
              + seconds(waited)
              + " ("
              + failures
              + " uploads failed) and the tasks have no room for more; see that there is space and"
              + " that it can be written, then "
              + AGAIN);
    }
    if (passes && waited >= TOLD_EVERY_NANOS) {
      tellNowAndThen(outage(sinceNanos, sinceNanos), nowNanos);
    }
  }

  /**
   * A checkpoint was given up because storage refused it; throws when the job must end.
   *
   * @param cause of kind {@code UNAVAILABLE}
   */
  void failed(long checkpointId, StateBackendException cause, long nowNanos) {
    boolean first = outage == null;
    Outage current = outage(nowNanos, nowNanos);
    current.checkpoints++;
    String reason = String.valueOf(cause.getMessage());
    if (!mayPass(cause)) {
      listener.failed(checkpointId, reason);
      if (++current.refusals >= MAX_REFUSALS) {
        throw new JobException(
            current.refusals
                + " checkpoints in a row failed ("
                + reason
                + "); once that is mended, "
                + AGAIN,
            cause);
      }
      return;
    }
    if (nowNanos - current.sinceNanos >= tolerated.toNanos()) {
      throw new JobException(
          "no checkpoint could be stored for "
              + seconds(nowNanos - current.sinceNanos)
              + ", "
              + current.checkpoints
              + " failed ("
              + reason
              + "); once that is mended, "
              + AGAIN,
          cause);
    }
    if (first) {
      listener.failed(checkpointId, reason + goesOn());
    } else {
      tellNowAndThen(current, nowNanos);
    }
  }

  /**
   * It is unknown whether a manifest was stored; throws when the job must end, otherwise the same
   * checkpoint is to be committed again.
   *
   * @param startNanos when it was first tried
   */
  void unknown(long checkpointId, StateBackendException cause, long startNanos, long nowNanos) {
    boolean first = outage == null;
    Outage current = outage(startNanos, nowNanos);
    Throwable reason = cause.getCause() == null ? cause : cause.getCause();
    String unknown =
        "it is unknown whether checkpoint "
            + checkpointId
            + " was stored ("
            + reason.getMessage()
            + ")";
    if (!mayPass(cause) || nowNanos - current.sinceNanos >= tolerated.toNanos()) {
      throw new JobException(
          unknown
              + "; once that is mended, run the same command again: it resumes from this checkpoint"
              + " if it is there, from the one before otherwise",
          cause);
    }
    if (first) {
      listener.storage(unknown + goesOn());
    } else {
      tellNowAndThen(current, nowNanos);
    }
  }

  /** A checkpoint is confirmed: storage answers. */
  void confirmed(long nowNanos) {
    Outage over = outage;
    outage = null;
    if (over != null && !tolerated.isZero()) {
      listener.storage(
          "storage answers again after "
              + seconds(nowNanos - over.sinceNanos)
              + "; checkpoints that failed meanwhile: "
              + over.checkpoints);
    }
  }

  private Outage outage(long startNanos, long nowNanos) {
    Outage current = outage;
    if (current == null) {
      current = new Outage(startNanos, nowNanos);
      outage = current;
    }
    return current;
  }

  private void tellNowAndThen(Outage current, long nowNanos) {
    if (!tolerated.isZero() && nowNanos - current.toldNanos >= TOLD_EVERY_NANOS) {
      current.toldNanos = nowNanos;
      listener.storage(
          "no checkpoint could be stored in '"
              + directory
              + "' for "
              + seconds(nowNanos - current.sinceNanos)
              + goesOn());
    }
  }

  private String goesOn() {
    return "; the job goes on as far as its memory lasts and waits up to "
        + Durations.format(tolerated)
        + " for storage";
  }

  /** Whether time may heal it, as far as the whole chain of causes tells. */
  private boolean mayPass(StateBackendException cause) {
    if (tolerated.isZero()) {
      return false;
    }
    for (@Nullable Throwable at = cause; at != null; at = at.getCause()) {
      if (at instanceof StateBackendException known && known.kind() != Kind.UNAVAILABLE) {
        return false;
      }
    }
    return true;
  }

  private static String seconds(long nanos) {
    return TimeUnit.NANOSECONDS.toSeconds(nanos) + " s";
  }
}
