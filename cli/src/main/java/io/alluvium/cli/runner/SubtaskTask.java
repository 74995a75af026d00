package io.alluvium.cli.runner;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyedBackend;
import io.alluvium.cli.job.Element;
import io.alluvium.cli.job.Job;
import io.alluvium.cli.job.Operator;
import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * One subtask: applies the elements of its key groups to its state, and takes its part of a
 * checkpoint when the barrier has come from every source. Confined to its own thread.
 */
final class SubtaskTask implements Runnable {

  private static final long IDLE_MILLIS = 50;

  private final int index;
  private final Inbox inbox;
  private final KeyedBackend<String> backend;
  private final SinkWriter sink;
  private final JobControl control;
  private final Job job;
  private final long restoredWatermark;
  private final long[] watermarks;
  private final SortedRuns rows;
  private final CompletableFuture<SortedRuns> results = new CompletableFuture<>();
  private int barriers;
  private long watermark = Long.MIN_VALUE;

  /**
   * What a subtask works with. Immutable.
   *
   * @param rows takes the final results
   * @param restoredWatermark where event time stood at the checkpoint that was restored
   */
  record Parts(
      Job job,
      KeyedBackend<String> backend,
      SinkWriter sink,
      Inbox inbox,
      SortedRuns rows,
      JobControl control,
      long restoredWatermark) {}

  SubtaskTask(int index, int sourceCount, Parts parts) {
    this.index = index;
    this.job = parts.job();
    this.backend = parts.backend();
    this.sink = parts.sink();
    this.inbox = parts.inbox();
    this.rows = parts.rows();
    this.control = parts.control();
    this.restoredWatermark = parts.restoredWatermark();
    this.watermarks = new long[sourceCount];
    Arrays.fill(watermarks, Long.MIN_VALUE);
  }

  /** The final results, once the job was told to finish. */
  CompletableFuture<SortedRuns> results() {
    return results;
  }

  @Override
  public void run() {
    try {
      Operator operator = job.operator(backend, sink, restoredWatermark);
      while (!control.stopped()) {
        Inbox.Received received = inbox.poll(IDLE_MILLIS);
        if (received == null) {
          backend.idle();
        } else if (received.message() instanceof Message.Batch batch) {
          process(operator, received.channel(), batch);
        } else if (received.message() instanceof Message.Barrier barrier) {
          align(operator, received.channel(), barrier.checkpoint());
        } else {
          operator.results(rows);
          results.complete(rows);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error e) {
      control.fail(e);
    } finally {
      closeSink();
    }
  }

  private void closeSink() {
    try {
      sink.close();
    } catch (IOException e) {
      control.fail(e);
    }
  }

  private void process(Operator operator, int channel, Message.Batch batch) {
    for (Element element : batch.elements()) {
      advance(operator, channel, element.watermark());
      operator.process(element);
    }
    advance(operator, channel, batch.watermarkAfter());
  }

  private void advance(Operator operator, int channel, long channelWatermark) {
    if (channelWatermark <= watermarks[channel]) {
      return;
    }
    watermarks[channel] = channelWatermark;
    long least = Long.MAX_VALUE;
    for (long each : watermarks) {
      least = Math.min(least, each);
    }
    if (least > watermark) {
      watermark = least;
      operator.advanceTo(least);
    }
  }

  private void align(Operator operator, int channel, PendingCheckpoint checkpoint) {
    inbox.hold(channel);
    barriers++;
    if (barriers < watermarks.length) {
      return;
    }
    operator.beforeCheckpoint();
    long start = System.nanoTime();
    CompletableFuture<CheckpointHandle> handle = backend.checkpoint(checkpoint.id());
    long syncNanos = System.nanoTime() - start;
    CompletableFuture<Optional<Transaction>> transaction = sink.prepare(checkpoint.id());
    checkpoint.answer(
        index,
        new PendingCheckpoint.SubtaskAnswer(handle, transaction, syncNanos, operator.counters()));
    barriers = 0;
    inbox.releaseAll();
  }
}
