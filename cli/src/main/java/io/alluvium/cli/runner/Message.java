package io.alluvium.cli.runner;

import io.alluvium.cli.job.Element;
import java.util.List;

/** What travels from a source, or from the coordinator, to a subtask. Immutable. */
sealed interface Message {

  /**
   * Elements in order.
   *
   * @param watermarkAfter of the source behind the last of them
   */
  record Batch(List<Element> elements, long watermarkAfter) implements Message {}

  /** Everything before it in its channel belongs to the checkpoint, nothing behind it does. */
  record Barrier(PendingCheckpoint checkpoint) implements Message {}

  /** From the coordinator: the job is over, deliver the results. */
  record Finish() implements Message {}
}
