package io.alluvium.cli.runner;

import io.alluvium.cli.job.Operator;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The output of one subtask: lines go to a hidden file until {@link #prepare} ends it. Confined to
 * the task thread.
 */
final class SinkWriter implements Operator.Output {

  private static final int BUFFER_BYTES = 64 << 10;

  private final FileSink sink;
  private final int subtask;
  private int files;
  private @Nullable Path openFile;
  private @Nullable OutputStream out;

  SinkWriter(FileSink sink, int subtask) {
    this.sink = sink;
    this.subtask = subtask;
  }

  @Override
  public void line(String line) {
    try {
      if (out == null) {
        openFile = sink.openName(subtask, files++);
        out =
            new BufferedOutputStream(
                Files.newOutputStream(
                    openFile, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                BUFFER_BYTES);
      }
      out.write(line.getBytes(StandardCharsets.UTF_8));
      out.write('\n');
    } catch (IOException e) {
      throw sink.cannotWrite(e);
    }
  }

  /**
   * Ends the transaction of a checkpoint without waiting for the disk; the future is done once it
   * is durable. Empty when nothing was written since the one before.
   */
  CompletableFuture<Optional<Transaction>> prepare(long checkpoint) {
    OutputStream ended = out;
    Path file = openFile;
    if (ended == null || file == null) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    out = null;
    openFile = null;
    return sink.prepare(subtask, checkpoint, file, ended);
  }

  /** Gives up what was not prepared; the file stays for the next start to remove. */
  void close() throws IOException {
    OutputStream unfinished = out;
    out = null;
    if (unfinished != null) {
      unfinished.close();
    }
  }
}
