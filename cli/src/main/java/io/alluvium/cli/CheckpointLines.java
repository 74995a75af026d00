package io.alluvium.cli;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.cli.runner.Bytes;
import io.alluvium.cli.runner.CheckpointMeter;
import java.time.temporal.ChronoUnit;
import java.util.Locale;

/** Checkpoints as lines of text. Stateless. */
final class CheckpointLines {

  private static final String FORMAT = "%-8s  %-20s  %8s  %10s  %10s  %8s  %-24s  %s";

  private CheckpointLines() {}

  static String header() {
    return String.format(
        Locale.ROOT,
        FORMAT,
        "id",
        "created",
        "subtasks",
        "manifest",
        "full size",
        "blocks",
        "materialization",
        "job");
  }

  static String line(Checkpoint checkpoint, long manifestBytes) {
    CheckpointMeter.Sizes sizes = CheckpointMeter.sizesOf(checkpoint.handles());
    return String.format(
        Locale.ROOT,
        FORMAT,
        checkpoint.id(),
        checkpoint.createdAt().truncatedTo(ChronoUnit.SECONDS),
        checkpoint.handles().size(),
        Bytes.shown(manifestBytes),
        Bytes.shown(sizes.full() + manifestBytes),
        sizes.blocks(),
        sizes.materialization(),
        checkpoint.job());
  }

  /** First sequence number that must be replayed, over all parts; the start when nothing is cut. */
  static long replayFrom(CheckpointHandle handle) {
    return handle.parts().stream()
        .mapToLong(part -> part.materialization().map(cut -> cut.position()).orElse(0L))
        .min()
        .orElse(0);
  }
}
