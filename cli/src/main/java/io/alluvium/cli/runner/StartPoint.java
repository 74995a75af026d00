package io.alluvium.cli.runner;

import io.alluvium.Checkpoint;
import io.alluvium.RestoreMode;
import java.util.Optional;

/**
 * Where a run begins. Immutable.
 *
 * @param metadata of the checkpoint, or of the beginning
 * @param checkpoint to restore; empty at the beginning
 * @param nextCheckpoint the id of the first checkpoint of this run
 */
record StartPoint(
    JobMetadata metadata, Optional<Checkpoint> checkpoint, RestoreMode mode, long nextCheckpoint) {

  boolean atBeginning() {
    return checkpoint.isEmpty();
  }
}
