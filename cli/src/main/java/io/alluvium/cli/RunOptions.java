package io.alluvium.cli;

import io.alluvium.cli.input.JobException;
import io.alluvium.cli.job.Job;
import io.alluvium.cli.runner.BadRecords;
import io.alluvium.cli.runner.RunSettings;
import io.alluvium.config.Durations;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options that every job has. Confined to one thread. */
final class RunOptions {

  @Option(
      names = "--input",
      required = true,
      arity = "1..*",
      paramLabel = "FILE|DIR",
      description =
          "What to read: files, and directories with all files below them that are not hidden."
              + " It must not change while the job lives.")
  private List<Path> inputs = new ArrayList<>();

  @Option(
      names = "--output",
      required = true,
      paramLabel = "DIR",
      description =
          "Where results go: part-<subtask>-<checkpoint>.tsv, each visible once its checkpoint is"
              + " confirmed. Unless set otherwise, state.checkpoints.dir is DIR/.alluvium/checkpoints"
              + " and state.backend.rocksdb.localdir is DIR/.alluvium/local.")
  private Path output = Path.of("");

  @Mixin private BackendOptions backend = new BackendOptions();

  @Option(
      names = "--job-name",
      paramLabel = "NAME",
      description = "Name of the job; the checkpoint directory belongs to it. Default: its kind.")
  private Optional<String> jobName = Optional.empty();

  @Option(
      names = "--parallelism",
      paramLabel = "N",
      defaultValue = "2",
      description =
          "Number of subtasks; may change from start to start. Default: ${DEFAULT-VALUE}.")
  private int parallelism;

  @Option(
      names = "--max-parallelism",
      paramLabel = "M",
      description = "Number of key groups; fixed at the first start. Default: 128.")
  private Optional<Integer> maxParallelism = Optional.empty();

  @Option(
      names = "--checkpoint-interval",
      paramLabel = "DURATION",
      defaultValue = "1s",
      converter = Converters.OfDuration.class,
      description = "Time between two checkpoints. Default: ${DEFAULT-VALUE}.")
  private Duration checkpointInterval = Duration.ofSeconds(1);

  @Option(
      names = "--rate",
      paramLabel = "N/s",
      converter = Converters.OfRate.class,
      description = "Read at most so many input lines (or rows) per second, over the whole job.")
  private @Nullable Double rate;

  @Option(
      names = "--tolerate-outage",
      paramLabel = "DURATION",
      defaultValue = "10m",
      converter = Converters.OfDuration.class,
      description =
          "How long the job goes on while object storage does not answer or asks for fewer"
              + " requests: the tasks work until the memory for the changelog is full"
              + " (dstl.dfs.upload.max-in-flight), then they wait. After it, and after 3 checkpoints"
              + " in a row that failed for another reason or in a local directory, the job ends and"
              + " can be run again. Default: ${DEFAULT-VALUE}.")
  private Duration tolerated = Duration.ofMinutes(10);

  @Option(
      names = "--on-bad-record",
      paramLabel = "fail|skip",
      defaultValue = "fail",
      converter = Converters.OfBadRecords.class,
      description = "What to do at a malformed row. Default: ${DEFAULT-VALUE}.")
  private BadRecords badRecords = BadRecords.FAIL;

  @Option(
      names = "--fresh",
      description = "Start over: remove the job's old output and checkpoints.")
  private boolean fresh;

  @Option(
      names = "--summary",
      paramLabel = "FILE.json",
      description = "Write the measurements of this run there.")
  private @Nullable Path summary;

  @Option(names = "--report", hidden = true, paramLabel = "FILE.jsonl")
  private @Nullable Path report;

  RunSettings settings(Job job) {
    Duration shortest = Duration.ofMillis(1);
    if (checkpointInterval.compareTo(shortest) < 0) {
      throw JobException.usage(
          "--checkpoint-interval "
              + Durations.format(checkpointInterval)
              + " must be at least 1ms");
    }
    if (tolerated.isNegative()) {
      throw JobException.usage("--tolerate-outage must not be negative");
    }
    atLeastOne("--parallelism", parallelism);
    maxParallelism.ifPresent(value -> atLeastOne("--max-parallelism", value));
    summary().ifPresent(file -> checkWritable("--summary", file));
    String name = jobName.orElse(job.kind());
    if (name.isBlank() || name.length() > 200 || name.chars().anyMatch(Character::isISOControl)) {
      throw JobException.usage(
          "--job-name '" + name + "' must be 1 to 200 characters without control characters");
    }
    return new RunSettings(
        job,
        inputs,
        output,
        name,
        parallelism,
        maxParallelism,
        checkpointInterval,
        Optional.ofNullable(rate),
        tolerated,
        fresh ? RunSettings.StartMode.FRESH : RunSettings.StartMode.RESUME,
        badRecords,
        RunSettings.withDefaults(backend.read(), output));
  }

  /** A job may run for hours before its summary is written. */
  private static void checkWritable(String option, Path file) {
    Path directory = file.toAbsolutePath().getParent();
    if (directory == null || Files.isDirectory(file)) {
      throw new JobException(option + " '" + file + "' is a directory; name a file");
    }
    if (!Files.isDirectory(directory)) {
      throw new JobException(
          "the directory '"
              + directory
              + "' of "
              + option
              + " does not exist; make it, or name a file somewhere else");
    }
    if (!Files.isWritable(Files.exists(file) ? file : directory)) {
      throw new JobException(
          option + " '" + file + "' cannot be written; allow it, or name a file somewhere else");
    }
  }

  private static void atLeastOne(String option, int value) {
    if (value < 1 || value > 32_768) {
      throw JobException.usage(option + " " + value + " must lie within 1 and 32768");
    }
  }

  Optional<Path> summary() {
    return Optional.ofNullable(summary);
  }

  Optional<Path> report() {
    return Optional.ofNullable(report);
  }
}
