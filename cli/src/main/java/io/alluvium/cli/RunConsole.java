package io.alluvium.cli;

import io.alluvium.cli.runner.Bytes;
import io.alluvium.cli.runner.CheckpointRow;
import io.alluvium.cli.runner.RestoreRow;
import io.alluvium.cli.runner.RunListener;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import me.tongfei.progressbar.ProgressBar;

/**
 * Tells on standard error how a run goes on: a progress bar on a terminal, plain lines otherwise.
 * Confined to one thread.
 */
final class RunConsole implements RunListener, AutoCloseable {

  private static final long LINE_EVERY_NANOS = Duration.ofSeconds(10).toNanos();

  private final PrintWriter err;
  private final String task;

  /** Drawn with the first progress: what is refused before that leaves no bar behind. */
  private Optional<ProgressBar> bar = Optional.empty();

  private long lastLine = System.nanoTime();

  private RunConsole(PrintWriter err, String task) {
    this.err = err;
    this.task = task;
  }

  static RunConsole open(PrintWriter err, String task) {
    return new RunConsole(err, task);
  }

  @Override
  public void started(String what) {
    line(what);
  }

  @Override
  public void restored(RestoreRow restore) {
    line(
        String.format(
            Locale.ROOT,
            "resuming from checkpoint %d: %d files linked, %d downloaded, %d changes replayed, %d ms",
            restore.checkpoint(),
            restore.filesLinked(),
            restore.filesDownloaded(),
            restore.changesReplayed(),
            restore.millis()));
  }

  @Override
  public void confirmed(CheckpointRow checkpoint) {
    if (bar.isPresent()) {
      bar.get().setExtraMessage("checkpoint " + checkpoint.id());
    } else {
      line(
          String.format(
              Locale.ROOT,
              "checkpoint %d confirmed in %.0f ms (sync %.3f ms, %s flushed)",
              checkpoint.id(),
              checkpoint.durationMillis(),
              checkpoint.syncMicros() / 1000.0,
              Bytes.shown(checkpoint.bytesFlushed())));
    }
  }

  @Override
  public void failed(long checkpointId, String reason) {
    line("checkpoint " + checkpointId + " failed: " + reason);
  }

  @Override
  public void storage(String what) {
    line(what);
  }

  @Override
  public void progress(long records, long bytesDone, long bytesTotal) {
    if (bar.isEmpty()) {
      bar = Terminal.progressBar(task, "KB", 1024);
    }
    bar.ifPresent(
        shown -> {
          shown.maxHint(bytesTotal);
          shown.stepTo(bytesDone);
        });
    long now = System.nanoTime();
    if (bar.isEmpty() && now - lastLine > LINE_EVERY_NANOS) {
      line(
          String.format(
              Locale.ROOT,
              "read %d records in this run, %.0f %% of the input is done",
              records,
              bytesTotal == 0 ? 100.0 : 100.0 * bytesDone / bytesTotal));
    }
  }

  private void line(String text) {
    lastLine = System.nanoTime();
    err.println(text);
    err.flush();
  }

  @Override
  public void close() {
    bar.ifPresent(ProgressBar::close);
  }
}
