package io.alluvium.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointInspector;
import io.alluvium.StateBackend;
import io.alluvium.StateRegistration;
import io.alluvium.cli.input.JobException;
import io.alluvium.cli.runner.Bytes;
import io.alluvium.cli.runner.CheckpointMeter;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows one checkpoint. Confined to the main thread. */
@Command(
    name = "show",
    customSynopsis = "alluvium checkpoints show ID|latest --dir URI [OPTIONS]",
    description = "Prints what one checkpoint consists of.")
final class ShowCommand implements Callable<Integer> {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      paramLabel = "ID",
      converter = CheckpointArgument.Converter.class,
      description = "The checkpoint's id, as listed, or 'latest'.")
  private CheckpointArgument wanted = new CheckpointArgument(OptionalLong.empty());

  @Mixin private StoreOptions store = new StoreOptions();

  @Override
  public Integer call() {
    CheckpointInspector.Entry found;
    try (StateBackend backend = store.open()) {
      long id = wanted.idIn(backend.inspector(), store.directory());
      found =
          backend.inspector().list().stream()
              .filter(entry -> entry.checkpoint().filter(c -> c.id() == id).isPresent())
              .findFirst()
              .orElseThrow(
                  () ->
                      new JobException(
                          "there is no checkpoint "
                              + id
                              + " in '"
                              + store.directory()
                              + "'; 'alluvium checkpoints list' shows those there are"));
    }
    print(spec.commandLine().getOut(), found);
    return found.problem().isPresent() ? CommandLine.ExitCode.SOFTWARE : CommandLine.ExitCode.OK;
  }

  private static void print(PrintWriter out, CheckpointInspector.Entry entry) {
    Checkpoint checkpoint = entry.checkpoint().orElseThrow();
    CheckpointMeter.Sizes sizes = CheckpointMeter.sizesOf(checkpoint.handles());
    out.println("checkpoint       " + checkpoint.id());
    out.println("job              " + checkpoint.job());
    out.println("manifest         " + entry.blobName() + " (" + entry.sizeBytes() + " bytes)");
    out.println("created          " + checkpoint.createdAt());
    out.println("written by       alluvium " + checkpoint.libraryVersion());
    out.println("incarnation      " + checkpoint.writer());
    out.println("full size        " + Bytes.shown(sizes.full() + entry.sizeBytes()));
    out.println("materialization  " + sizes.materialization());
    out.println("changelog        " + sizes.blocks() + " blocks");
    entry.problem().ifPresent(problem -> out.println("DAMAGED          " + problem));
    out.println();
    out.println(subtasks(checkpoint));
    if (!checkpoint.handles().isEmpty()) {
      out.println();
      out.println(states(checkpoint.handles().get(0).states()));
    }
    out.println();
    out.println("metadata         " + metadata(checkpoint.metadata()));
    out.flush();
  }

  private static String subtasks(Checkpoint checkpoint) {
    List<String[]> rows = new ArrayList<>();
    for (CheckpointHandle handle : checkpoint.handles()) {
      CheckpointMeter.Sizes sizes = CheckpointMeter.sizesOf(List.of(handle));
      rows.add(
          new String[] {
            handle.keyGroups().toString(),
            Integer.toString(handle.parts().size()),
            sizes.materialization(),
            Long.toString(CheckpointLines.replayFrom(handle)),
            Long.toString(handle.end()),
            Integer.toString(sizes.blocks()),
            Bytes.shown(sizes.full())
          });
    }
    return Tables.of(
        new String[] {
          "key groups", "parts", "materialization", "replay from", "end", "blocks", "size"
        },
        rows);
  }

  private static String states(List<StateRegistration> states) {
    List<String[]> rows =
        states.stream()
            .map(
                state ->
                    new String[] {
                      state.name(),
                      state.kind().name().toLowerCase(java.util.Locale.ROOT),
                      state.namespace().id(),
                      String.join(", ", state.values().stream().map(value -> value.id()).toList())
                    })
            .toList();
    return Tables.of(new String[] {"state", "kind", "namespace", "values"}, rows);
  }

  /** Ours are JSON; those of another program are only counted. */
  private static String metadata(byte[] bytes) {
    try {
      JsonNode tree = Json.LINES.readTree(bytes);
      return tree == null || tree.isMissingNode() ? "none" : Json.pretty(tree);
    } catch (IOException e) {
      return bytes.length + " bytes of the caller's own";
    }
  }
}
