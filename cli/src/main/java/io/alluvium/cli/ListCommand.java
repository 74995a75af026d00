package io.alluvium.cli;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointInspector;
import io.alluvium.StateBackend;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Lists checkpoints. Confined to the main thread. */
@Command(
    name = "list",
    customSynopsis = "alluvium checkpoints list --dir URI [OPTIONS]",
    description =
        "Prints a line for each checkpoint, oldest first, that starts with its id. A damaged one is"
            + " listed by its blob name; the exit status is then 1.")
final class ListCommand implements Callable<Integer> {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Mixin private StoreOptions store = new StoreOptions();

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    List<CheckpointInspector.Entry> entries;
    try (StateBackend backend = store.open()) {
      entries = backend.inspector().list();
    }
    if (entries.isEmpty()) {
      spec.commandLine().getErr().println("no checkpoints in '" + store.directory() + "'");
      return CommandLine.ExitCode.OK;
    }
    boolean damaged = false;
    out.println(CheckpointLines.header());
    for (CheckpointInspector.Entry entry : entries) {
      if (entry.checkpoint().isPresent() && entry.problem().isEmpty()) {
        Checkpoint checkpoint = entry.checkpoint().get();
        out.println(CheckpointLines.line(checkpoint, entry.sizeBytes()));
      } else {
        damaged = true;
        out.println(
            entry.blobName()
                + "  DAMAGED  "
                + entry.problem().orElse("the manifest cannot be read").replace('\n', ' '));
      }
    }
    out.flush();
    return damaged ? CommandLine.ExitCode.SOFTWARE : CommandLine.ExitCode.OK;
  }
}
