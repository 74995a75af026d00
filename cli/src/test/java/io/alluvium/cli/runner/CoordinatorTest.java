package io.alluvium.cli.runner;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackendException;
import io.alluvium.cli.input.JobException;
import io.alluvium.spi.Incarnation;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CoordinatorTest {

  private static final Incarnation WRITER = new Incarnation(1, 2);

  @TempDir private Path directory;

  private final StateBackendException unknown =
      StateBackendException.unavailable(
          "it is unknown ...; commit the same checkpoint again",
          StateBackendException.of(StateBackendException.Kind.UNAVAILABLE, "the disk is full"));

  /** What the catalog asks of its caller is of no use to somebody at a command line. */
  @Test
  void takeCheckpoint_commitWithUnknownOutcome_saysWhatToDoNext() {
    FailingCatalog catalog = new FailingCatalog(unknown, Integer.MAX_VALUE);
    try (FileSink sink = new FileSink(directory, WRITER)) {
      Coordinator coordinator = coordinator(catalog, sink, Duration.ZERO);
      assertThatThrownBy(coordinator::takeCheckpoint)
          .isInstanceOf(JobException.class)
          .hasMessage(
              "it is unknown whether checkpoint 7 was stored (the disk is full); once that is"
                  + " mended, run the same command again: it resumes from this checkpoint if it"
                  + " is there, from the one before otherwise");
    }
    assertThat(catalog.commits).hasSize(1);
  }

  /** Nothing else may be committed before the outcome is known. */
  @Test
  void takeCheckpoint_outcomeUnknownInAnOutage_commitsTheSameAgainUntilItIsKnown() {
    FailingCatalog catalog = new FailingCatalog(unknown, 3);
    try (FileSink sink = new FileSink(directory, WRITER)) {
      Coordinator coordinator = coordinator(catalog, sink, Duration.ofMinutes(1));
      coordinator.takeCheckpoint();
      coordinator.takeCheckpoint();
      assertThat(coordinator.statistics().checkpoints().completed()).isEqualTo(2);
    }
    assertThat(catalog.commits).hasSize(5);
    assertThat(catalog.commits.subList(0, 4)).allMatch(catalog.commits.get(0)::equals);
    assertThat(catalog.commits.get(4)).startsWith("8 ").isNotEqualTo(catalog.commits.get(0));
  }

  private Coordinator coordinator(FailingCatalog catalog, FileSink sink, Duration tolerated) {
    RunListener listener = new SilentListener();
    return new Coordinator(
        new Coordinator.Parts(
            catalog,
            List.of(),
            sink,
            new JobControl(),
            new NoWaiter(),
            new StorageWatch(new MemoryMetrics(), "s3://bucket/job", tolerated, listener),
            new CheckpointMeter(CheckpointMeter.ChangelogMode.ENABLED),
            listener,
            0),
        new StartPoint(metadata(), Optional.empty(), RestoreMode.REUSE, 7));
  }

  private static JobMetadata metadata() {
    return new JobMetadata(
        JobMetadata.FORMAT,
        "wordcount",
        Map.of(),
        128,
        List.of(),
        List.of(),
        List.of(),
        7,
        List.of(),
        Map.of(),
        List.of(),
        false);
  }

  /** Nothing takes time here. */
  private static final class NoWaiter implements Coordinator.Waiter {
    @Override
    public <T> T await(CompletableFuture<T> future) {
      return future.join();
    }

    @Override
    public void awaitBarrier(PendingCheckpoint checkpoint) {}

    @Override
    public void pause() {}
  }

  /** Owns its job; so many commits do not come to an end. */
  private static final class FailingCatalog implements CheckpointCatalog {
    private final StateBackendException failure;
    private final List<String> commits = new ArrayList<>();
    private int failing;

    private FailingCatalog(StateBackendException failure, int failing) {
      this.failure = failure;
      this.failing = failing;
    }

    @Override
    public Optional<Checkpoint> takeOver(String job) {
      return Optional.empty();
    }

    @Override
    public void startOver(String job) {}

    @Override
    public Incarnation incarnation() {
      return WRITER;
    }

    @Override
    public boolean isOlder(Incarnation other) {
      return false;
    }

    @Override
    public Optional<Checkpoint> latest() {
      return Optional.empty();
    }

    @Override
    public OptionalLong greatestCheckpointId() {
      return OptionalLong.empty();
    }

    @Override
    public Optional<Checkpoint> fallbackFrom(Checkpoint damaged) {
      return Optional.empty();
    }

    @Override
    public RestoreMode restoreMode() {
      return RestoreMode.REUSE;
    }

    @Override
    public Commit commit(long checkpointId, List<CheckpointHandle> handles, byte[] metadata) {
      commits.add(checkpointId + " " + handles + " " + new String(metadata, UTF_8));
      if (failing-- > 0) {
        throw failure;
      }
      return new Commit(
          new Checkpoint(checkpointId, 1, "job", WRITER, "1", Instant.EPOCH, handles, metadata),
          true,
          1);
    }

    @Override
    public void collectGarbage() {}
  }
}
