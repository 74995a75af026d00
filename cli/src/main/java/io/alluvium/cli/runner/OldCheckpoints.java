package io.alluvium.cli.runner;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointInspector;
import io.alluvium.StateBackend;
import io.alluvium.cli.input.IoMessages;
import io.alluvium.cli.input.JobException;
import io.alluvium.config.CoreOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Checkpoints of an earlier life of a job, which {@code --fresh} ended. Stateless.
 *
 * <p>Only their manifests are deleted here, by the job's owner and never one that is newer than its
 * own; what they alone reached, the garbage collection deletes. Takeover records stay, so that an
 * earlier owner that still runs finds out that it lost the job.
 */
final class OldCheckpoints {

  private OldCheckpoints() {}

  /**
   * Removes checkpoints with an id below a bound, and damaged ones. In a store that is no local
   * directory it does nothing: the retention ends them one by one.
   */
  static void remove(StateBackend backend, RunSettings settings, long below) {
    Optional<Path> store =
        CheckpointDirectory.local(
            String.valueOf(settings.backend().get(CoreOptions.CHECKPOINT_DIRECTORY.key())));
    if (store.isEmpty()) {
      return;
    }
    for (CheckpointInspector.Entry entry : backend.inspector().list()) {
      if (entry.checkpoint().map(Checkpoint::id).orElse(0L) < below) {
        Path manifest = store.get().resolve(entry.blobName());
        try {
          Files.deleteIfExists(manifest);
        } catch (IOException e) {
          throw new JobException(
              "the old checkpoint '" + manifest + "' cannot be removed: " + IoMessages.of(e), e);
        }
      }
    }
  }
}
