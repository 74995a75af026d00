package io.alluvium.cli;

import io.alluvium.cli.job.Job;
import io.alluvium.cli.runner.Bytes;
import io.alluvium.cli.runner.CheckpointRow;
import io.alluvium.cli.runner.JobRunner;
import io.alluvium.cli.runner.RestoreRow;
import io.alluvium.cli.runner.RunListener;
import io.alluvium.cli.runner.RunSettings;
import io.alluvium.cli.runner.RunSummary;
import io.alluvium.config.CoreOptions;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import picocli.CommandLine;

/** One {@code run} command from its options to its last line. Stateless. */
final class RunSession {

  private RunSession() {}

  static int run(CommandLine command, RunOptions options, Job job) {
    RunSettings settings = options.settings(job);
    warnOfMemory(command.getErr(), settings.backend());
    JobRunner.Outcome outcome;
    try (RunConsole console = RunConsole.open(command.getErr(), job.kind())) {
      outcome = JobRunner.run(settings, reporting(console, options.report()));
    }
    options.summary().ifPresent(file -> Json.write(file, outcome.summary()));
    print(command.getOut(), settings, outcome);
    return CommandLine.ExitCode.OK;
  }

  private static void warnOfMemory(PrintWriter err, Map<String, String> backend) {
    String directory = backend.getOrDefault(CoreOptions.CHECKPOINT_DIRECTORY.key(), "");
    String storage = backend.getOrDefault(CoreOptions.CHANGELOG_STORAGE.key(), "");
    boolean logged = !backend.getOrDefault(CoreOptions.CHANGELOG_ENABLED.key(), "").equals("false");
    if (directory.startsWith("memory:") || (logged && storage.equals("memory"))) {
      err.println(
          "warning: "
              + (directory.startsWith("memory:")
                  ? CoreOptions.CHECKPOINT_DIRECTORY.key() + "=" + directory
                  : CoreOptions.CHANGELOG_STORAGE.key() + "=" + storage)
              + " keeps checkpoints in the memory of this process: when it ends, they are gone and"
              + " the job cannot resume");
      err.flush();
    }
  }

  private static RunListener reporting(RunListener console, Optional<Path> report) {
    return report.isEmpty() ? console : new ReportingListener(console, report.get());
  }

  private static void print(PrintWriter out, RunSettings settings, JobRunner.Outcome outcome) {
    out.printf(
        Locale.ROOT,
        "%s finished: %d records in this run, %.1f records/s, %d checkpoints%n",
        settings.jobName(),
        outcome.summary().records(),
        outcome.summary().recordsPerSecond(),
        outcome.summary().checkpoints().completed());
    out.println(
        requests(outcome.summary().requests(), outcome.summary().checkpoints().completed() > 0));
    for (Map.Entry<String, Long> counter : new TreeMap<>(outcome.counters()).entrySet()) {
      out.println(counter.getKey() + ": " + counter.getValue());
    }
    out.println("output: " + settings.output());
    outcome.results().forEach(file -> out.println("results: " + file));
    out.flush();
  }

  private static String requests(RunSummary.Requests requests, boolean anyCheckpoint) {
    String all =
        String.format(
            Locale.ROOT,
            "requests to the store: %d PUT (%s), %d GET (%s), %d LIST, %d DELETE",
            requests.put(),
            Bytes.shown(requests.bytesPut()),
            requests.get(),
            Bytes.shown(requests.bytesGot()),
            requests.list(),
            requests.delete());
    return anyCheckpoint
        ? all
            + String.format(
                Locale.ROOT,
                "; per checkpoint %.2f PUT of log and manifests, %.2f in all",
                requests.perCheckpoint(),
                requests.perCheckpointInAll())
        : all;
  }

  /** Also writes a line of JSON for each restore and checkpoint, for another process to read. */
  private record ReportingListener(RunListener next, Path report) implements RunListener {

    @Override
    public void started(String what) {
      next.started(what);
    }

    @Override
    public void restored(RestoreRow restore) {
      Json.append(report, Map.of("restore", restore));
      next.restored(restore);
    }

    @Override
    public void confirmed(CheckpointRow checkpoint) {
      Json.append(report, Map.of("checkpoint", checkpoint));
      next.confirmed(checkpoint);
    }

    @Override
    public void failed(long checkpointId, String reason) {
      next.failed(checkpointId, reason);
    }

    @Override
    public void storage(String what) {
      next.storage(what);
    }

    @Override
    public void progress(long records, long bytesDone, long bytesTotal) {
      next.progress(records, bytesDone, bytesTotal);
    }
  }
}
