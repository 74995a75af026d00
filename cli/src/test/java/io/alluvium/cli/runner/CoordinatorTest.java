package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackendException;
import io.alluvium.cli.input.JobException;
import io.alluvium.spi.Incarnation;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CoordinatorTest {

  private static final Incarnation WRITER = new Incarnation(1, 2);

  @TempDir private Path directory;

  /** What the catalog asks of its caller is of no use to somebody at a command line. */
  @Test
  void takeCheckpoint_commitWithUnknownOutcome_saysWhatToDoNext() {
    StateBackendException storage =
        StateBackendException.of(StateBackendException.Kind.UNAVAILABLE, "the disk is full");
    CheckpointCatalog catalog =
        new FailingCatalog(
            StateBackendException.unavailable(
                "it is unknown ...; commit the same checkpoint again", storage));
    try (FileSink sink = new FileSink(directory, WRITER)) {
      Coordinator coordinator =
          new Coordinator(
              new Coordinator.Parts(
                  catalog,
                  List.of(),
                  sink,
                  new JobControl(),
                  new NoWaiter(),
                  new CheckpointMeter(CheckpointMeter.ChangelogMode.ENABLED),
                  new SilentListener(),
                  0),
              new StartPoint(metadata(), Optional.empty(), RestoreMode.REUSE, 7));
      assertThatThrownBy(coordinator::takeCheckpoint)
          .isInstanceOf(JobException.class)
          .hasMessage(
              "it is unknown whether checkpoint 7 was stored (the disk is full); once that is"
                  + " mended, run the same command again: it resumes from this checkpoint if it"
                  + " is there, from the one before otherwise");
    }
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

  private static final class SilentListener implements RunListener {
    @Override
    public void started(String what) {}

    @Override
    public void restored(RestoreRow restore) {}

    @Override
    public void confirmed(CheckpointRow checkpoint) {}

    @Override
    public void failed(long checkpointId, String reason) {}

    @Override
    public void progress(long records, long bytesDone, long bytesTotal) {}
  }

  /** Owns its job; no commit comes to an end. */
  private record FailingCatalog(StateBackendException failure) implements CheckpointCatalog {

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
    public Optional<Checkpoint> fallbackFrom(Checkpoint damaged) {
      return Optional.empty();
    }

    @Override
    public RestoreMode restoreMode() {
      return RestoreMode.REUSE;
    }

    @Override
    public Commit commit(long checkpointId, List<CheckpointHandle> handles, byte[] metadata) {
      throw failure;
    }

    @Override
    public void collectGarbage() {}
  }
}
