package io.alluvium.cli.runner;

import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackendException;
import io.alluvium.cli.input.Position;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

/**
 * Takes the checkpoints of a running job, one after the other. Confined to the main thread.
 *
 * <p>A checkpoint that storage refuses is aborted: its prepared output stays on the list until a
 * later checkpoint is confirmed, because the elements in it lie before that checkpoint's barrier.
 * {@link StorageWatch} says whether the job goes on; what was confirmed stays.
 */
final class Coordinator {

  /** Rows that {@link BadRecords#SKIP} left out. */
  private static final String BAD_RECORDS = "bad records skipped";

  private final CheckpointCatalog catalog;
  private final List<KeyedBackend<String>> backends;
  private final FileSink sink;
  private final JobControl control;
  private final Waiter waiter;
  private final StorageWatch storage;
  private final CheckpointMeter meter;
  private final RunListener listener;
  private final RunStatistics statistics = new RunStatistics();
  private final List<Transaction> prepared = new ArrayList<>();
  private final Map<String, Long> countersBefore;
  private final int sourceCount;
  private JobMetadata metadata;
  private long nextId;

  /** Waits while something else may fail. */
  interface Waiter {

    /** Waits for a future, or throws what a thread of the job failed with. */
    <T> T await(CompletableFuture<T> future);

    /** Waits until every source and subtask has answered, or finds out why they cannot. */
    void awaitBarrier(PendingCheckpoint checkpoint);

    /** Lets a moment pass before something is tried again. */
    void pause();
  }

  /**
   * What a coordinator works with. Immutable.
   *
   * @param sourceCount sources that answer each checkpoint
   */
  record Parts(
      CheckpointCatalog catalog,
      List<KeyedBackend<String>> backends,
      FileSink sink,
      JobControl control,
      Waiter waiter,
      StorageWatch storage,
      CheckpointMeter meter,
      RunListener listener,
      int sourceCount) {}

  Coordinator(Parts parts, StartPoint start) {
    catalog = parts.catalog();
    backends = parts.backends();
    sink = parts.sink();
    control = parts.control();
    waiter = parts.waiter();
    storage = parts.storage();
    meter = parts.meter();
    listener = parts.listener();
    sourceCount = parts.sourceCount();
    metadata = start.metadata();
    nextId = start.nextCheckpoint();
    countersBefore = metadata.counters();
    start.checkpoint().ifPresent(checkpoint -> meter.restored(checkpoint.handles()));
  }

  RunStatistics statistics() {
    return statistics;
  }

  /** As of the newest confirmed checkpoint. */
  JobMetadata metadata() {
    return metadata;
  }

  /**
   * Takes one checkpoint; an aborted one is told to the listener.
   *
   * @return whether it is confirmed
   */
  boolean takeCheckpoint() {
    return tryCheckpoint(Optional.empty());
  }

  /** Takes checkpoints until one is confirmed. */
  void takeCheckpointForSure() {
    while (!tryCheckpoint(Optional.empty())) {
      waiter.pause();
    }
  }

  /**
   * Takes the checkpoint that says that the job is finished.
   *
   * @param visible names of the output files so far
   */
  void takeLastCheckpoint(Set<String> visible) {
    while (!tryCheckpoint(Optional.of(visible))) {
      waiter.pause();
    }
  }

  private boolean tryCheckpoint(Optional<Set<String>> visibleAtEnd) {
    long id = nextId++;
    long start = System.nanoTime();
    PendingCheckpoint pending = new PendingCheckpoint(id, sourceCount, backends.size());
    control.request(pending);
    waiter.awaitBarrier(pending);
    long synced = System.nanoTime();
    List<PendingCheckpoint.SubtaskAnswer> answers = pending.subtaskAnswers();
    for (PendingCheckpoint.SubtaskAnswer answer : answers) {
      waiter.await(answer.transaction()).ifPresent(prepared::add);
    }
    List<CheckpointHandle> handles = new ArrayList<>();
    try {
      for (PendingCheckpoint.SubtaskAnswer answer : answers) {
        handles.add(waiter.await(answer.handle()));
      }
    } catch (StateBackendException e) {
      if (e.kind() != StateBackendException.Kind.UNAVAILABLE) {
        throw e;
      }
      aborted(id, e);
      return false;
    }
    JobMetadata next =
        metadata.advancedTo(positions(pending), prepared, counters(pending, answers));
    if (visibleAtEnd.isPresent()) {
      next = next.finished(allOutputs(visibleAtEnd.get()));
    }
    CheckpointCatalog.Commit commit = commit(id, handles, next);
    metadata = next;
    storage.confirmed(System.nanoTime());
    backends.forEach(backend -> backend.confirm(id));
    sink.commit(prepared);
    prepared.clear();
    long syncNanos =
        answers.stream().mapToLong(PendingCheckpoint.SubtaskAnswer::syncNanos).max().orElse(0);
    report(id, handles, commit, new Times(syncNanos, start, synced, System.nanoTime()));
    return true;
  }

  /** Commits until the outcome is known: nothing else may be committed before. */
  private CheckpointCatalog.Commit commit(
      long id, List<CheckpointHandle> handles, JobMetadata next) {
    byte[] bytes = JobMetadataFormat.write(next);
    long start = System.nanoTime();
    while (true) {
      try {
        return catalog.commit(id, handles, bytes);
      } catch (StateBackendException e) {
        if (!isUnknown(e)) {
          throw e;
        }
        storage.unknown(id, e, start, System.nanoTime());
      }
      waiter.pause();
    }
  }

  /** Whether storage did not say if a manifest is there, for whatever reason. */
  private static boolean isUnknown(StateBackendException e) {
    return switch (e.kind()) {
      case UNAVAILABLE -> true;
      // Without a cause it is the caller's mistake.
      case INVALID -> e.getCause() != null;
      case CORRUPT, INCOMPATIBLE, FENCED, CLOSED, INTERNAL -> false;
    };
  }

  private void aborted(long id, StateBackendException cause) {
    backends.forEach(backend -> backend.abort(id));
    statistics.failed();
    storage.failed(id, cause, System.nanoTime());
  }

  /**
   * When what happened to a checkpoint, by {@link System#nanoTime}. Immutable.
   *
   * @param syncNanos length of the longest synchronous part of a subtask
   * @param syncedNanos the last synchronous part was over
   */
  private record Times(long syncNanos, long startNanos, long syncedNanos, long endNanos) {}

  private void report(
      long id, List<CheckpointHandle> handles, CheckpointCatalog.Commit commit, Times times) {
    CheckpointMeter.Sizes sizes = meter.measure(handles);
    long manifest = commit.written() ? commit.manifestBytes() : 0;
    CheckpointRow row =
        new CheckpointRow(
            id,
            times.syncNanos() / 1000,
            (times.endNanos() - times.syncedNanos()) / 1e6,
            (times.endNanos() - times.startNanos()) / 1e6,
            sizes.flushed() + manifest,
            sizes.full() + manifest,
            sizes.blocks(),
            sizes.materialization());
    statistics.confirmed(row);
    listener.confirmed(row);
  }

  private List<Position> positions(PendingCheckpoint pending) {
    List<Position> positions = new ArrayList<>(metadata.positions());
    pending.sourceAnswers().forEach(answer -> answer.positions().forEach(positions::set));
    return positions;
  }

  private Map<String, Long> counters(
      PendingCheckpoint pending, List<PendingCheckpoint.SubtaskAnswer> answers) {
    Map<String, Long> counters = new TreeMap<>(countersBefore);
    answers.forEach(
        answer ->
            answer.counters().forEach((name, count) -> counters.merge(name, count, Long::sum)));
    for (PendingCheckpoint.SourceAnswer answer : pending.sourceAnswers()) {
      if (answer.badRecords() > 0) {
        counters.merge(BAD_RECORDS, answer.badRecords(), Long::sum);
      }
    }
    return counters;
  }

  private List<String> allOutputs(Set<String> visible) {
    Set<String> outputs = new TreeSet<>(visible);
    prepared.forEach(transaction -> outputs.add(transaction.visibleName()));
    return List.copyOf(outputs);
  }
}
