package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.cli.input.JobException;
import io.alluvium.cli.job.WordCountJob;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process that was suspended since it took the job over, while another one ended the job. */
final class StaleOwnerTest {

  @TempDir private Path directory;
  private Path output;

  @BeforeEach
  void input() throws Exception {
    output = directory.resolve("out");
    Files.write(directory.resolve("in.txt"), Collections.nCopies(2_000, "one two two"));
  }

  private RunSettings settings(Optional<Double> recordsPerSecond) {
    return new RunSettings(
        new WordCountJob(),
        List.of(directory.resolve("in.txt")),
        output,
        "job",
        1,
        Optional.empty(),
        Duration.ofMillis(20),
        recordsPerSecond,
        Duration.ZERO,
        RunSettings.StartMode.RESUME,
        BadRecords.FAIL,
        RunSettings.withDefaults(Map.of("state.backend.type", "heap"), output));
  }

  /** Ends the job early, after its third checkpoint. */
  private static final class Stopping extends SilentListener {
    private int confirmed;

    @Override
    public void confirmed(CheckpointRow checkpoint) {
      if (++confirmed == 3) {
        throw new JobException("stopped by the test");
      }
    }
  }

  /** Stands still between the takeover and the first thing that the job does. */
  private static class Suspended extends SilentListener {
    private final CountDownLatch restored = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);

    @Override
    public void restored(RestoreRow restore) {
      restored.countDown();
      try {
        assertThat(goOn.await(1, TimeUnit.MINUTES)).isTrue();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  /** Stands still after its first checkpoint, before it clears away what was there before. */
  private static final class SuspendedLater extends Suspended {
    @Override
    public void restored(RestoreRow restore) {}

    @Override
    public void confirmed(CheckpointRow checkpoint) {
      super.restored(new RestoreRow(0, 0, 0, 0, 0, 0, 0));
    }
  }

  @Test
  void ownerSuspendedAfterItsTakeover_leavesTheResultOfItsSuccessorAlone() throws Exception {
    suspendedOwnerLeavesTheResultAlone(new Suspended());
  }

  @Test
  void ownerSuspendedAfterItsFirstCheckpoint_leavesTheResultOfItsSuccessorAlone() throws Exception {
    suspendedOwnerLeavesTheResultAlone(new SuspendedLater());
  }

  private void suspendedOwnerLeavesTheResultAlone(Suspended suspended) throws Exception {
    assertThatThrownBy(() -> JobRunner.run(settings(Optional.of(500.0)), new Stopping()))
        .hasStackTraceContaining("stopped by the test");
    CompletableFuture<JobRunner.Outcome> stale =
        CompletableFuture.supplyAsync(
            () -> JobRunner.run(settings(Optional.of(500.0)), suspended),
            task -> new Thread(task).start());
    assertThat(suspended.restored.await(1, TimeUnit.MINUTES)).isTrue();
    var unused = JobRunner.run(settings(Optional.empty()), new SilentListener());
    String result = "one\t2000\ntwo\t4000\n";
    assertThat(output.resolve("counts.tsv")).hasContent(result);
    suspended.goOn.countDown();
    assertThatThrownBy(() -> stale.get(1, TimeUnit.MINUTES))
        .isInstanceOf(ExecutionException.class)
        .hasMessageContaining("another process has taken over");
    assertThat(output.resolve("counts.tsv")).hasContent(result);
  }
}
