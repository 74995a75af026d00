package io.alluvium.cli;

import io.alluvium.CheckpointInspector;
import io.alluvium.StateBackend;
import io.alluvium.cli.runner.Bytes;
import java.io.PrintWriter;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Checks every byte of a checkpoint. Confined to the main thread. */
@Command(
    name = "verify",
    customSynopsis = "alluvium checkpoints verify ID|latest --dir URI [OPTIONS]",
    description =
        "Reads and checks every byte that a checkpoint refers to, then every other blob under the"
            + " directory, and names what is wrong (exit status 1).")
final class VerifyCommand implements Callable<Integer> {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      paramLabel = "ID",
      converter = CheckpointArgument.Converter.class,
      description = "The checkpoint's id, as listed, or 'latest'.")
  private CheckpointArgument wanted = new CheckpointArgument(OptionalLong.empty());

  @Mixin private StoreOptions store = new StoreOptions();

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    Tally tally = new Tally();
    CheckpointInspector.Verification found;
    long id;
    Optional<ProgressBar> bar = Terminal.progressBar("verify", "KB", 1024);
    try (StateBackend backend = store.open()) {
      id = wanted.idIn(backend.inspector(), store.directory());
      found =
          backend
              .inspector()
              .verify(
                  id,
                  (blob, bytes) -> {
                    tally.blobs++;
                    tally.bytes += bytes;
                    bar.ifPresent(shown -> shown.stepBy(bytes));
                  });
    } finally {
      bar.ifPresent(ProgressBar::close);
    }
    List<String> problems = found.problems();
    problems.forEach(out::println);
    for (String orphan : found.orphans()) {
      out.println(
          "blob '"
              + orphan
              + (orphan.startsWith("slots/")
                  ? "' cannot be read; --fresh or a fallback went on without it, it stays because it"
                      + " may keep an earlier process out"
                  : "' belongs to no checkpoint and cannot be checked; gc removes it"));
    }
    String read = tally.blobs + " blobs, " + Bytes.shown(tally.bytes);
    out.println(
        problems.isEmpty()
            ? "checkpoint " + id + " and all other blobs are sound (" + read + " read)"
            : "checkpoint "
                + id
                + ": "
                + problems.size()
                + (problems.size() == 1 ? " problem (" : " problems (")
                + read
                + " read)");
    out.flush();
    return problems.isEmpty() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
  }

  /** What was read. Confined to the main thread. */
  private static final class Tally {
    int blobs;
    long bytes;
  }
}
