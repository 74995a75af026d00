package io.alluvium.flink.jobs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.jspecify.annotations.Nullable;

/**
 * Emits traffic at a pace. A reader emits nothing before it holds all slices it will get, and then
 * takes them in turns, so that no event is ever late. Immutable.
 */
final class EventSource implements Source<Event, EventSource.Slice, List<EventSource.Slice>> {

  private static final long serialVersionUID = 1L;

  private final Traffic traffic;
  private final Pace pace;

  EventSource(Traffic traffic, Pace pace) {
    this.traffic = traffic;
    this.pace = pace;
  }

  /** A slice and the position of its next event. */
  record Slice(int index, long position) implements SourceSplit {
    @Override
    public String splitId() {
      return String.valueOf(index);
    }
  }

  @Override
  public Boundedness getBoundedness() {
    return Boundedness.BOUNDED;
  }

  @Override
  public SourceReader<Event, Slice> createReader(SourceReaderContext context) {
    return new EventReader(traffic, pace);
  }

  @Override
  public SplitEnumerator<Slice, List<Slice>> createEnumerator(
      SplitEnumeratorContext<Slice> context) {
    return new Dealer(
        context,
        IntStream.range(0, traffic.slices()).mapToObj(index -> new Slice(index, 0)).toList());
  }

  @Override
  public SplitEnumerator<Slice, List<Slice>> restoreEnumerator(
      SplitEnumeratorContext<Slice> context, List<Slice> left) {
    return new Dealer(context, left);
  }

  @Override
  public SimpleVersionedSerializer<Slice> getSplitSerializer() {
    return new Format<>() {
      @Override
      void write(Slice slice, DataOutputSerializer out) throws IOException {
        out.writeInt(slice.index());
        out.writeLong(slice.position());
      }

      @Override
      Slice read(DataInputDeserializer in) throws IOException {
        return new Slice(in.readInt(), in.readLong());
      }
    };
  }

  @Override
  public SimpleVersionedSerializer<List<Slice>> getEnumeratorCheckpointSerializer() {
    return new Format<>() {
      @Override
      void write(List<Slice> slices, DataOutputSerializer out) throws IOException {
        out.writeInt(slices.size());
        for (Slice slice : slices) {
          out.writeInt(slice.index());
          out.writeLong(slice.position());
        }
      }

      @Override
      List<Slice> read(DataInputDeserializer in) throws IOException {
        List<Slice> slices = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
          slices.add(new Slice(in.readInt(), in.readLong()));
        }
        return slices;
      }
    };
  }

  private abstract static class Format<T> implements SimpleVersionedSerializer<T> {
    abstract void write(T value, DataOutputSerializer out) throws IOException;

    abstract T read(DataInputDeserializer in) throws IOException;

    @Override
    public int getVersion() {
      return 1;
    }

    @Override
    public byte[] serialize(T value) throws IOException {
      DataOutputSerializer out = new DataOutputSerializer(64);
      write(value, out);
      return out.getCopyOfBuffer();
    }

    @Override
    public T deserialize(int version, byte[] serialized) throws IOException {
      return read(new DataInputDeserializer(serialized));
    }
  }

  /** Gives each reader its share at once. Confined to the coordinator's thread. */
  private static final class Dealer implements SplitEnumerator<Slice, List<Slice>> {

    private final SplitEnumeratorContext<Slice> context;
    private final List<Slice> left;

    Dealer(SplitEnumeratorContext<Slice> context, List<Slice> left) {
      this.context = context;
      this.left = new ArrayList<>(left);
    }

    @Override
    public void start() {}

    @Override
    public void handleSplitRequest(int subtask, @Nullable String host) {}

    @Override
    public void addSplitsBack(List<Slice> slices, int subtask) {
      left.addAll(slices);
    }

    @Override
    public void addReader(int subtask) {
      List<Slice> share =
          left.stream()
              .filter(slice -> slice.index() % context.currentParallelism() == subtask)
              .toList();
      share.forEach(slice -> context.assignSplit(slice, subtask));
      left.removeAll(share);
      context.signalNoMoreSplits(subtask);
    }

    @Override
    public List<Slice> snapshotState(long checkpointId) {
      return List.copyOf(left);
    }

    @Override
    public void close() {}
  }
}
