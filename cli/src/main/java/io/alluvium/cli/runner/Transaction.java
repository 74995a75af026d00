package io.alluvium.cli.runner;

import io.alluvium.spi.Incarnation;

/**
 * A prepared part of the output: durable under a hidden name until the checkpoint that lists it is
 * confirmed. Immutable.
 *
 * @param checkpoint at which it was prepared; a later one may be the first that lists it
 * @param incarnation who wrote it, as text
 */
record Transaction(int subtask, long checkpoint, String incarnation) {

  /** Under which it becomes visible. */
  String visibleName() {
    return "part-" + subtask + "-" + checkpoint + ".tsv";
  }

  /** Under which it waits. */
  String hiddenName() {
    return ".part-" + subtask + "-" + checkpoint + "." + incarnation + ".prepared";
  }

  static Transaction of(int subtask, long checkpoint, Incarnation incarnation) {
    return new Transaction(subtask, checkpoint, incarnation.toString());
  }
}
