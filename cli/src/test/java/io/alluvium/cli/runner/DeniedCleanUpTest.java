package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.cli.job.WordCountJob;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A job whose results are written has succeeded, whatever storage says to its cleaning up. */
final class DeniedCleanUpTest {

  @TempDir private Path directory;

  /** Remembers what it is told of storage. */
  private static final class Told extends SilentListener {
    private final List<String> storage = new ArrayList<>();

    @Override
    public void storage(String what) {
      storage.add(what);
    }
  }

  @Test
  void run_deletionsAreDenied_endsWellAndSoDoesEachFurtherStart() throws Exception {
    Files.write(directory.resolve("in.txt"), Collections.nCopies(2_000, "one two two"));
    Path output = directory.resolve("out");
    RunSettings settings =
        new RunSettings(
            new WordCountJob(),
            List.of(directory.resolve("in.txt")),
            output,
            "job",
            1,
            Optional.empty(),
            Duration.ofMillis(20),
            Optional.empty(),
            Duration.ZERO,
            RunSettings.StartMode.RESUME,
            BadRecords.FAIL,
            RunSettings.withDefaults(
                Map.of(
                    "state.backend.type",
                    "heap",
                    "state.checkpoints.dir",
                    "denying:" + directory.resolve("store")),
                output));
    for (int start = 1; start <= 3; start++) {
      Told told = new Told();
      JobRunner.Outcome outcome = JobRunner.run(settings, told);
      assertThat(outcome.results()).isNotEmpty();
      assertThat(output.resolve("counts.tsv")).hasContent("one\t2000\ntwo\t4000\n");
      assertThat(told.storage)
          .as("told at start %s", start)
          .singleElement()
          .asString()
          .contains("deletions are denied")
          .contains("alluvium checkpoints gc");
    }
  }
}
