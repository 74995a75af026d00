package io.alluvium.testkit.sim;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Supplier;

/**
 * The way of a simulated process to a blob store. Between a call and its effect, and between the
 * effect and its answer, anything may happen: others go on, the process dies, the answer is lost,
 * the request comes late. Used by whoever has the turn.
 */
public final class SimulatedBlobStore implements BlobStore {

  /**
   * What goes wrong on the way; probabilities, 0 = never.
   *
   * @param refused the call fails and has no effect
   * @param lostAnswer the call has its effect, and fails
   * @param late the call fails, and its effect comes at any later time, also after the caller died
   */
  public record Network(double refused, double lostAnswer, double late) {
    public static final Network RELIABLE = new Network(0, 0, 0);
  }

  private final Simulation simulation;
  private final SimulatedProcess process;
  private final BlobStore store;
  private final Network network;

  SimulatedBlobStore(
      Simulation simulation, SimulatedProcess process, BlobStore store, Network network) {
    this.simulation = simulation;
    this.process = process;
    this.store = store;
    this.network = network;
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    byte[] bytes = bytesOf(content);
    change(
        "put " + name,
        () -> {
          store.put(name, List.of(ByteBuffer.wrap(bytes)));
          return true;
        });
  }

  @Override
  public void putFile(String name, Path file) {
    byte[] bytes;
    try {
      bytes = Files.readAllBytes(file);
    } catch (IOException e) {
      throw StateBackendException.unavailable("cannot read file '" + file + "'", e);
    }
    put(name, List.of(ByteBuffer.wrap(bytes)));
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    byte[] bytes = content.clone();
    return change("putifabsent " + name, () -> store.putIfAbsent(name, bytes));
  }

  @Override
  public OptionalLong size(String name) {
    return read("size " + name, () -> store.size(name));
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    return read(
        "read " + name,
        () -> {
          try (InputStream in = store.open(name, offset, length)) {
            return new ByteArrayInputStream(in.readAllBytes());
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    return read("list " + prefix, () -> store.list(prefix));
  }

  @Override
  public void delete(Collection<String> names) {
    List<String> copy = List.copyOf(names);
    change(
        "delete " + String.join(" ", copy),
        () -> {
          store.delete(copy);
          return true;
        });
  }

  @Override
  public void deleteLeftovers(Duration olderThan) {
    store.deleteLeftovers(olderThan);
  }

  @Override
  public String uri() {
    return store.uri();
  }

  /** Leaves the store open: it outlives every process. */
  @Override
  public void close() {}

  private <T> T read(String call, Supplier<T> effect) {
    simulation.point(process, call);
    refuse(call);
    T answer = effect.get();
    simulation.point(process, call + " answered");
    return answer;
  }

  private <T> T change(String call, Supplier<T> effect) {
    simulation.point(process, call);
    refuse(call);
    if (simulation.choices().fault(network.late)) {
      simulation.late(call, () -> done(effect.get()));
      throw failed(call, "no answer in time");
    }
    T answer = effect.get();
    boolean lost = simulation.choices().fault(network.lostAnswer);
    simulation.point(process, call + (lost ? " done, answer lost" : " answered"));
    if (lost) {
      throw failed(call, "answer lost");
    }
    return answer;
  }

  private static <T> void done(@SuppressWarnings("unused") T nobodyWaits) {}

  private void refuse(String call) {
    if (simulation.choices().fault(network.refused)) {
      throw failed(call, "refused");
    }
  }

  private StateBackendException failed(String call, String how) {
    return StateBackendException.unavailable(
        "simulated failure of '" + call + "' by " + process.name() + ": " + how,
        new IOException(how));
  }

  private static byte[] bytesOf(List<ByteBuffer> content) {
    int size = content.stream().mapToInt(ByteBuffer::remaining).sum();
    ByteBuffer all = ByteBuffer.allocate(size);
    content.forEach(part -> all.put(part.duplicate()));
    return all.array();
  }
}
