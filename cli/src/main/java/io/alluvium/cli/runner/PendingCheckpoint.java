package io.alluvium.cli.runner;

import io.alluvium.CheckpointHandle;
import io.alluvium.cli.input.Position;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A checkpoint on its way: every source and every subtask answers once. Thread-safe.
 *
 * <p>The coordinator starts the next one only after all have answered, so that at most one barrier
 * is in the channels.
 */
final class PendingCheckpoint {

  /**
   * A source's answer.
   *
   * @param positions of its splits, by split
   */
  record SourceAnswer(Map<Integer, Position> positions, long badRecords) {}

  /**
   * A subtask's answer, given when its synchronous part is over.
   *
   * @param handle complete once its part of the state is durable
   * @param transaction complete once its part of the output is durable; empty when there was none
   */
  record SubtaskAnswer(
      CompletableFuture<CheckpointHandle> handle,
      CompletableFuture<Optional<Transaction>> transaction,
      long syncNanos,
      Map<String, Long> counters) {}

  private final long id;
  private final List<CompletableFuture<SourceAnswer>> sources = new ArrayList<>();
  private final List<CompletableFuture<SubtaskAnswer>> subtasks = new ArrayList<>();

  PendingCheckpoint(long id, int sourceCount, int subtaskCount) {
    this.id = id;
    for (int i = 0; i < sourceCount; i++) {
      sources.add(new CompletableFuture<>());
    }
    for (int i = 0; i < subtaskCount; i++) {
      subtasks.add(new CompletableFuture<>());
    }
  }

  long id() {
    return id;
  }

  void answer(int source, SourceAnswer answer) {
    sources.get(source).complete(answer);
  }

  void answer(int subtask, SubtaskAnswer answer) {
    subtasks.get(subtask).complete(answer);
  }

  /** Done when all have answered. */
  CompletableFuture<Void> answered() {
    List<CompletableFuture<?>> all = new ArrayList<>(sources);
    all.addAll(subtasks);
    return CompletableFuture.allOf(all.toArray(new CompletableFuture<?>[0]));
  }

  /** The answers; {@link #answered} is done. */
  List<SourceAnswer> sourceAnswers() {
    return sources.stream().map(CompletableFuture::join).toList();
  }

  List<SubtaskAnswer> subtaskAnswers() {
    return subtasks.stream().map(CompletableFuture::join).toList();
  }
}
