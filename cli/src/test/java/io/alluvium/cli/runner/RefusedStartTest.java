package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.KeyedBackend;
import io.alluvium.cli.input.InputFile;
import io.alluvium.cli.input.JobException;
import io.alluvium.cli.input.RecordFormat;
import io.alluvium.cli.job.Job;
import io.alluvium.cli.job.Operator;
import io.alluvium.cli.job.RecordParser;
import io.alluvium.cli.job.WordCountJob;
import io.alluvium.cli.runner.RunSettings.StartMode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A start that cannot succeed writes nothing: a process that runs the job goes on. */
final class RefusedStartTest {

  @TempDir private Path directory;
  private Path input;
  private Path output;

  @BeforeEach
  void setUp() throws IOException {
    input = Files.writeString(directory.resolve("in.txt"), "a b a\n");
    output = directory.resolve("out");
  }

  private RunSettings settings(Job job, StartMode start) {
    return new RunSettings(
        job,
        List.of(input),
        output,
        "job",
        1,
        Optional.empty(),
        Duration.ofMillis(20),
        Optional.empty(),
        Duration.ZERO,
        start,
        BadRecords.FAIL,
        RunSettings.withDefaults(Map.of("state.backend.type", "heap"), output));
  }

  private List<Path> slots() throws IOException {
    try (Stream<Path> files = Files.list(OutputDirectory.checkpoints(output).resolve("slots"))) {
      return files.sorted().toList();
    }
  }

  /** Counts words of input that breaks while it is cut into splits. */
  private record BrokenInput(WordCountJob words) implements Job {
    @Override
    public long headerBytes(InputFile file) {
      throw new JobException("input '" + file.path() + "' breaks off");
    }

    @Override
    public String kind() {
      return words.kind();
    }

    @Override
    public Map<String, String> parameters() {
      return words.parameters();
    }

    @Override
    public RecordFormat format() {
      return words.format();
    }

    @Override
    public RecordParser parserOf(InputFile file) {
      return words.parserOf(file);
    }

    @Override
    public long latenessMillis() {
      return words.latenessMillis();
    }

    @Override
    public Operator operator(KeyedBackend<String> backend, Operator.Output out, long watermark) {
      return words.operator(backend, out, watermark);
    }

    @Override
    public Optional<String> resultFile() {
      return words.resultFile();
    }
  }

  @Test
  void fresh_inputCannotBeCutIntoSplits() throws IOException {
    Object unused =
        JobRunner.run(settings(new WordCountJob(), StartMode.RESUME), new SilentListener());
    List<Path> before = slots();
    RunSettings broken = settings(new BrokenInput(new WordCountJob()), StartMode.FRESH);
    assertThatThrownBy(() -> JobRunner.run(broken, new SilentListener()))
        .isInstanceOf(JobException.class)
        .hasMessageContaining("breaks off");
    assertThat(slots()).isEqualTo(before);
  }

  @Test
  void resume_newestCheckpointIsDamaged() throws IOException {
    Object unused =
        JobRunner.run(settings(new WordCountJob(), StartMode.RESUME), new SilentListener());
    List<Path> before = slots();
    Path newest = before.get(before.size() - 1);
    byte[] bytes = Files.readAllBytes(newest);
    bytes[bytes.length / 2] ^= 4;
    Files.write(newest, bytes);
    assertThatThrownBy(
            () ->
                JobRunner.run(settings(new WordCountJob(), StartMode.RESUME), new SilentListener()))
        .isInstanceOf(JobException.class)
        .hasMessageContaining("slots/")
        .hasMessageContaining("start over with --fresh");
    assertThat(slots()).isEqualTo(before);
  }
}
