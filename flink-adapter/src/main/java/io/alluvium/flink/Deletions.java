package io.alluvium.flink;

import io.alluvium.spi.Execution;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Executor;
import org.apache.flink.runtime.state.StreamStateHandle;

/**
 * Deletes what nobody needs: not on the thread that notices it, which may be the task's, or one
 * that Flink has interrupted, and the client of a remote storage gives up then. Thread-safe.
 */
final class Deletions {

  private final Executor background;

  Deletions(Executor background) {
    this.background = background;
  }

  void later(List<Path> copies, List<StreamStateHandle> files) {
    if (copies.isEmpty() && files.isEmpty()) {
      return;
    }
    Runnable work =
        () -> {
          copies.forEach(LocalCopies::delete);
          files.forEach(StreamWriter::discard);
        };
    // No thread: better slow than left behind.
    Execution.handOff(background, work, refusal -> work.run());
  }
}
