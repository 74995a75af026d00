package io.alluvium.cli;

import io.alluvium.CheckpointInspector;
import io.alluvium.StateBackend;
import io.alluvium.cli.input.JobException;
import io.alluvium.cli.runner.Bytes;
import io.alluvium.config.CoreOptions;
import io.alluvium.config.Durations;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Deletes what no checkpoint needs. Confined to the main thread. */
@Command(
    name = "gc",
    customSynopsis =
        "alluvium checkpoints gc --dir URI [--dry-run] [--grace DURATION] [--retain N] [OPTIONS]",
    description =
        "Deletes blobs that no retained checkpoint reaches. What the newest owner of the job wrote"
            + " is spared until its newest blob is older than the grace period.")
final class GcCommand implements Callable<Integer> {

  private static final Duration DEFAULT_GRACE = Duration.ofHours(1);

  @Spec private CommandSpec spec = CommandSpec.create();

  @Mixin private StoreOptions store = new StoreOptions();

  @Option(names = "--dry-run", description = "Only show what would be deleted.")
  private boolean dryRun;

  @Option(
      names = "--grace",
      paramLabel = "DURATION",
      defaultValue = "1h",
      converter = Converters.OfDuration.class,
      description =
          "How long the newest owner must have been silent; 0s states that the job is stopped."
              + " Default: ${DEFAULT-VALUE}.")
  private Duration grace = DEFAULT_GRACE;

  @Option(
      names = "--retain",
      paramLabel = "N",
      description =
          "Also retire all checkpoints but the newest N, which a killed job may not have come to."
              + " Default: state.checkpoints.num-retained where --set or --config gives it, else all"
              + " are kept.")
  private Optional<Integer> retain = Optional.empty();

  @Override
  public Integer call() {
    if (grace.isNegative()) {
      throw JobException.usage("--grace must not be negative");
    }
    if (retain.isPresent() && retain.get() < 1) {
      throw JobException.usage("--retain must be at least 1");
    }
    warnOfShortGrace();
    CheckpointInspector.CollectMode mode =
        dryRun ? CheckpointInspector.CollectMode.DRY_RUN : CheckpointInspector.CollectMode.DELETE;
    CheckpointInspector.Collection collection;
    try (StateBackend backend = store.open()) {
      collection = backend.inspector().collect(grace, retained(backend), mode);
    }
    PrintWriter out = spec.commandLine().getOut();
    collection.deleted().forEach(out::println);
    out.println(
        (dryRun ? "would delete " : "deleted ")
            + counted(collection.deleted().size())
            + ", "
            + Bytes.shown(collection.bytes())
            + (collection.kept() == 0
                ? ""
                : "; left alone, because their owner may need them: "
                    + counted(collection.kept())));
    out.flush();
    return CommandLine.ExitCode.OK;
  }

  /** What was not said is not assumed: the job may keep more than the default. */
  private int retained(StateBackend backend) {
    return retain.orElseGet(
        () ->
            store.gives(CoreOptions.RETAINED_CHECKPOINTS)
                ? backend.configuration().get(CoreOptions.RETAINED_CHECKPOINTS)
                : Integer.MAX_VALUE);
  }

  private static String counted(int blobs) {
    return blobs + (blobs == 1 ? " blob" : " blobs");
  }

  /** A job that still runs would not notice what it loses before it names it. */
  private void warnOfShortGrace() {
    if (grace.compareTo(DEFAULT_GRACE) < 0) {
      PrintWriter err = spec.commandLine().getErr();
      err.println(
          "warning: a job that still runs"
              + (grace.isZero() ? "" : " and has stored nothing for " + Durations.format(grace))
              + " loses what no checkpoint names yet, such as a new materialization, and its next"
              + " checkpoint is damaged; stop the job first, or give a --grace longer than it is"
              + " ever silent ("
              + Durations.format(DEFAULT_GRACE)
              + " unless given)");
      err.flush();
    }
  }
}
