package io.alluvium.cli;

import io.alluvium.cli.input.JobException;
import io.alluvium.cli.job.WordCountJob;
import io.alluvium.cli.runner.CheckpointRow;
import io.alluvium.cli.runner.RestoreRow;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Shows that a job survives SIGKILL with exact results. Confined to the main thread.
 *
 * <p>The job runs in a process of its own, through the same command line that a user would type, so
 * that the kill is a real one; this process only starts it, kills it, starts it again and checks.
 */
@Command(
    name = "demo",
    customSynopsis = "alluvium demo [--dir DIR] [--s3 [--endpoint URL [--bucket NAME]]]",
    description = {
      "Shows that a job that is killed ends with exact results, in under a minute.",
      "Runs wordcount on the King James text with embedded RocksDB, a local directory (or object"
          + " storage) as durable store and a checkpoint every second; kills its worker with SIGKILL in the middle, starts"
          + " it again, and checks the counts against an independent recount."
    })
final class DemoCommand implements Callable<Integer> {

  private static final String TEXT = "data/kjv.txt.gz";

  /** Slow enough for several checkpoints before and after the kill. */
  private static final String RATE = "4000/s";

  /** The one at the start, and four that follow a second apart: about the middle of the text. */
  private static final int CHECKPOINTS_BEFORE_KILL = 5;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--dir",
      paramLabel = "DIR",
      description = "Work there and keep everything. Default: a temporary directory, removed.")
  private @Nullable Path directory;

  @Mixin private DemoStore store = new DemoStore();

  @Override
  public Integer call() throws IOException {
    PrintWriter out = spec.commandLine().getOut();
    long start = System.nanoTime();
    try (DemoStore opened = store) {
      opened.open();
      opened.announcement().ifPresent(out::println);
      out.flush();
      return play(out, start);
    }
  }

  private int play(PrintWriter out, long start) throws IOException {
    if (directory != null) {
      Files.createDirectories(directory);
      return play(directory, out, start);
    }
    Path temporary = Files.createTempDirectory("alluvium-demo-");
    try {
      return play(temporary, out, start);
    } finally {
      DemoFiles.deleteTree(temporary);
    }
  }

  private int play(Path work, PrintWriter out, long start) throws IOException {
    Path text = work.resolve("kjv.txt");
    Path output = work.resolve("output");
    try (InputStream in = DemoCommand.class.getResourceAsStream(TEXT)) {
      if (in == null) {
        throw new JobException("the jar does not hold " + TEXT + "; build it again");
      }
      Files.write(text, new GZIPInputStream(in).readAllBytes());
    }
    DemoWorker worker =
        new DemoWorker(
            command(text, output), store.environment(), work, spec.commandLine().getErr());
    DemoWorker.Life killed = worker.runAndKill(CHECKPOINTS_BEFORE_KILL);
    DemoWorker.Life finished = worker.runToEnd();

    out.println();
    out.println("Checkpoints");
    out.println(checkpoints(killed, finished));
    out.println();
    out.println("Restore, after the worker was killed with SIGKILL");
    out.println(restores(finished.restores()));
    out.println();
    DemoVerdict verdict = DemoVerdict.of(text, output);
    verdict.lines().forEach(out::println);
    out.printf(
        Locale.ROOT,
        "%s in %.1f s%n",
        verdict.exact() ? "EXACT: no word was lost or counted twice," : "NOT EXACT,",
        (System.nanoTime() - start) / 1e9);
    out.flush();
    return verdict.exact() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
  }

  private List<String> command(Path text, Path output) {
    List<String> command = new ArrayList<>(run(text, output));
    command.addAll(store.arguments());
    return command;
  }

  private static List<String> run(Path text, Path output) {
    return List.of(
        "run",
        WordCountJob.KIND,
        "--input",
        text.toString(),
        "--output",
        output.toString(),
        "--checkpoint-interval",
        "1s",
        "--rate",
        RATE,
        // The default of ten minutes would show none.
        "--set",
        "state.backend.changelog.periodic-materialize.interval=2s",
        "--set",
        "state.backend.local-recovery=true");
  }

  private static String checkpoints(DemoWorker.Life killed, DemoWorker.Life finished) {
    List<String[]> rows = new ArrayList<>();
    killed.checkpoints().forEach(row -> rows.add(cells("killed", row)));
    finished.checkpoints().forEach(row -> rows.add(cells("resumed", row)));
    return Tables.of(
        new String[] {
          "worker",
          "id",
          "sync ms",
          "async ms",
          "bytes flushed",
          "full bytes",
          "changelog blocks",
          "materialization used"
        },
        rows);
  }

  private static String[] cells(String worker, CheckpointRow row) {
    return new String[] {
      worker,
      Long.toString(row.id()),
      String.format(Locale.ROOT, "%.3f", row.syncMicros() / 1000.0),
      String.format(Locale.ROOT, "%.1f", row.asyncMillis()),
      String.format(Locale.ROOT, "%,d", row.bytesFlushed()),
      String.format(Locale.ROOT, "%,d", row.fullBytes()),
      Integer.toString(row.changelogBlocks()),
      row.materialization()
    };
  }

  private static String restores(List<RestoreRow> restores) {
    List<String[]> rows = new ArrayList<>();
    for (RestoreRow row : restores) {
      rows.add(
          new String[] {
            Long.toString(row.checkpoint()),
            Integer.toString(row.filesLinked()),
            Integer.toString(row.filesDownloaded()),
            Integer.toString(row.blocksRead()),
            String.format(Locale.ROOT, "%,d", row.changesReplayed()),
            Long.toString(row.millis())
          });
    }
    return Tables.of(
        new String[] {
          "checkpoint", "files linked", "files downloaded", "blocks read", "changes replayed", "ms"
        },
        rows);
  }
}
