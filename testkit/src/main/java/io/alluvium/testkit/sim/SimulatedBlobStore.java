package io.alluvium.testkit.sim;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.RemoteBlobStore;
import io.alluvium.spi.RequestListener;
import io.alluvium.spi.RequestListener.Verb;
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
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * A simulated process's connection to a blob store. Other actors may run between a call and its
 * effect, and between the effect and its answer. There the process may die, the answer may be lost,
 * and the request may be late. Used only by the actor whose turn it is.
 */
public final class SimulatedBlobStore implements RemoteBlobStore {

  /**
   * A fault profile of the network: probabilities, 0 means never.
   *
   * @param refused the call fails and has no effect
   * @param lostAnswer the call takes effect and fails
   * @param late the call fails and takes effect at any later time, also after the caller's death
   * @param slow a put takes seconds; if it is cancelled meanwhile, it takes effect at any later
   *     time or never
   * @param throttled the call fails without an effect, and the listener gets a throttling response
   */
  public record Network(
      double refused, double lostAnswer, double late, double slow, double throttled) {
    public static final Network RELIABLE = new Network(0, 0, 0);

    public Network(double refused, double lostAnswer, double late) {
      this(refused, lostAnswer, late, 0, 0);
    }
  }

  /** Duration of a slow request. */
  private static final Duration SLOW = Duration.ofSeconds(2);

  private final Simulation simulation;
  private final SimulatedProcess process;
  private final BlobStore store;
  private final Network network;
  private RequestListener listener = RequestListener.NONE;

  SimulatedBlobStore(
      Simulation simulation, SimulatedProcess process, BlobStore store, Network network) {
    this.simulation = simulation;
    this.process = process;
    this.store = store;
    this.network = network;
  }

  @Override
  public void put(String name, List<ByteBuffer> content, CompletableFuture<?> cancelled) {
    byte[] bytes = bytesOf(content);
    listener.requested(Verb.PUT, name, bytes.length);
    change(
        "put " + name,
        cancelled,
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
  public boolean putIfAbsent(String name, byte[] content, CompletableFuture<?> cancelled) {
    byte[] bytes = content.clone();
    listener.requested(Verb.PUT, name, bytes.length);
    return change("putifabsent " + name, cancelled, () -> store.putIfAbsent(name, bytes));
  }

  @Override
  public void listen(RequestListener newListener) {
    listener = newListener;
  }

  @Override
  public OptionalLong size(String name) {
    listener.requested(Verb.GET, name, 0);
    return read("size " + name, () -> store.size(name));
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    listener.requested(Verb.GET, name, length);
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
    listener.requested(Verb.LIST, prefix, 0);
    return read("list " + prefix, () -> store.list(prefix));
  }

  @Override
  public void delete(Collection<String> names) {
    List<String> copy = List.copyOf(names);
    listener.requested(Verb.DELETE, "", 0);
    change(
        "delete " + String.join(" ", copy),
        new CompletableFuture<>(),
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

  /** Does not close the store, which outlives every process. */
  @Override
  public void close() {}

  private <T> T read(String call, Supplier<T> effect) {
    simulation.point(process, call);
    refuse(call);
    T answer = effect.get();
    simulation.point(process, call + " answered");
    return answer;
  }

  private <T> T change(String call, CompletableFuture<?> cancelled, Supplier<T> effect) {
    simulation.point(process, call);
    refuse(call);
    if (simulation.choices().fault(network.late)) {
      simulation.late(call, () -> done(effect.get()));
      throw failed(call, "no answer in time");
    }
    if (simulation.choices().fault(network.slow)) {
      slowDown(call, cancelled, effect);
    }
    T answer = effect.get();
    boolean lost = simulation.choices().fault(network.lostAnswer);
    simulation.point(process, call + (lost ? " done, answer lost" : " answered"));
    if (lost) {
      throw failed(call, "answer lost");
    }
    if (cancelled.isDone()) {
      throw failed(call, "cancelled before its answer");
    }
    return answer;
  }

  private <T> void slowDown(String call, CompletableFuture<?> cancelled, Supplier<T> effect) {
    CompletableFuture<Boolean> arrived = new CompletableFuture<>();
    process.execution().schedule(SLOW, () -> arrived.complete(true));
    simulation.await(process, CompletableFuture.anyOf(arrived, cancelled));
    if (cancelled.isDone()) {
      if (simulation.choices().choose(2) == 0) {
        simulation.late(call, () -> done(effect.get()));
      }
      throw failed(call, "cancelled");
    }
  }

  private static <T> void done(@SuppressWarnings("unused") T ignored) {}

  private void refuse(String call) {
    if (simulation.choices().fault(network.refused)) {
      throw failed(call, "refused");
    }
    if (simulation.choices().fault(network.throttled)) {
      listener.throttled();
      throw failed(call, "too many requests");
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
