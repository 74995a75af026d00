package io.alluvium.flink.jobs;

import io.alluvium.flink.jobs.EventSource.Slice;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.core.io.InputStatus;

/** Emits one event of each of its slices in turn. Confined to the task thread. */
final class EventReader implements SourceReader<Event, Slice> {

  private final Traffic traffic;
  private final Pace pace;
  private final Deque<Slice> slices = new ArrayDeque<>();
  private final CompletableFuture<Void> complete = new CompletableFuture<>();
  private CompletableFuture<Void> allowed = complete;

  EventReader(Traffic traffic, Pace pace) {
    this.traffic = traffic;
    this.pace = pace;
  }

  @Override
  public void start() {}

  @Override
  public void addSplits(List<Slice> added) {
    slices.addAll(added);
  }

  @Override
  public void notifyNoMoreSplits() {
    complete.complete(null);
  }

  @Override
  public InputStatus pollNext(ReaderOutput<Event> output) {
    if (!allowed.isDone()) {
      return InputStatus.NOTHING_AVAILABLE;
    }
    if (allowed == complete) {
      // A slice without an output would not hold back the watermark.
      slices.forEach(slice -> output.createOutputForSplit(slice.splitId()));
      allowed = pace.next();
      return allowed.isDone() ? InputStatus.MORE_AVAILABLE : InputStatus.NOTHING_AVAILABLE;
    }
    Slice slice = slices.poll();
    if (slice == null) {
      return InputStatus.END_OF_INPUT;
    }
    if (slice.position() == traffic.sizePerSlice()) {
      output.releaseOutputForSplit(slice.splitId());
      return InputStatus.MORE_AVAILABLE;
    }
    Event event = traffic.at(slice.index(), slice.position());
    output.createOutputForSplit(slice.splitId()).collect(event, event.timeMillis());
    slices.add(new Slice(slice.index(), slice.position() + 1));
    allowed = pace.next();
    return allowed.isDone() ? InputStatus.MORE_AVAILABLE : InputStatus.NOTHING_AVAILABLE;
  }

  @Override
  public CompletableFuture<Void> isAvailable() {
    return allowed;
  }

  @Override
  public List<Slice> snapshotState(long checkpointId) {
    return new ArrayList<>(slices);
  }

  @Override
  public void close() {}
}
