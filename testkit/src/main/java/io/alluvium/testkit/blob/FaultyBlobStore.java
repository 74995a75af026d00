package io.alluvium.testkit.blob;

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
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Wraps any blob store: records every call and injects the faults of its {@link FaultPlan}.
 * Thread-safe.
 */
public final class FaultyBlobStore implements BlobStore {

  /*
   * Reads with injected damage pass through memory, because test blobs are small.
   */
  private final BlobStore store;
  private final Consumer<Duration> sleeper;
  private final FaultPlan plan;
  private volatile boolean stopped;

  /** Uses a new plan; delays sleep on the calling thread. */
  public FaultyBlobStore(BlobStore store) {
    this(store, duration -> LockSupport.parkNanos(duration.toNanos()));
  }

  /**
   * Uses a new plan.
   *
   * @param sleeper waits for the duration of a {@link Fault.Delay}
   */
  public FaultyBlobStore(BlobStore store, Consumer<Duration> sleeper) {
    this(store, sleeper, new FaultPlan());
  }

  /**
   * Uses the given plan.
   *
   * @param sleeper waits for the duration of a {@link Fault.Delay}
   * @param plan may be shared with stores of other processes
   */
  public FaultyBlobStore(BlobStore store, Consumer<Duration> sleeper, FaultPlan plan) {
    this.store = store;
    this.sleeper = sleeper;
    this.plan = plan;
  }

  /** The plan of faults, which also records the calls. */
  public FaultPlan plan() {
    return plan;
  }

  /** Adds a rule, see {@link FaultRule}; only later calls are counted. */
  public void rule(String line) {
    plan.rule(line);
  }

  /** Removes all rules. */
  public void clearRules() {
    plan.clear();
  }

  /** Number of calls of one kind. */
  public int count(BlobOp op) {
    return plan.count(op);
  }

  /** Number of calls. */
  public int calls() {
    return plan.calls().size();
  }

  /** All calls so far, one line each: call, name, size, and the fault if any. */
  public List<String> trace() {
    return plan.trace();
  }

  /** Removes the counts and the trace. */
  public void clearTrace() {
    plan.clearCalls();
  }

  /** Makes every later call fail before it takes effect, as if the process were dead. */
  public void stop() {
    stopped = true;
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    byte[] bytes = bytesOf(content);
    Fault fault = begin(BlobOp.PUT, name, bytes.length + " bytes");
    List<ByteBuffer> stored = List.of(ByteBuffer.wrap(damaged(bytes, fault)));
    effect(
        BlobOp.PUT,
        name,
        fault,
        () -> {
          store.put(name, stored);
          return true;
        });
  }

  @Override
  public void putFile(String name, Path file) {
    Fault fault = begin(BlobOp.PUT, name, file.toFile().length() + " bytes of a file");
    effect(
        BlobOp.PUT,
        name,
        fault,
        () -> {
          if (fault instanceof Fault.FlipBit || fault instanceof Fault.Truncate) {
            store.put(name, List.of(ByteBuffer.wrap(damaged(bytesOf(file), fault))));
          } else {
            store.putFile(name, file);
          }
          return true;
        });
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    Fault fault = begin(BlobOp.PUTIFABSENT, name, content.length + " bytes");
    byte[] stored = damaged(content, fault);
    return effect(BlobOp.PUTIFABSENT, name, fault, () -> store.putIfAbsent(name, stored));
  }

  @Override
  public OptionalLong size(String name) {
    Fault fault = begin(BlobOp.SIZE, name, "");
    return effect(BlobOp.SIZE, name, fault, () -> store.size(name));
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    Fault fault = begin(BlobOp.READ, name, "[" + offset + ", " + (offset + length) + ")");
    return effect(BlobOp.READ, name, fault, () -> reading(name, offset, length, fault));
  }

  private InputStream reading(String name, long offset, long length, @Nullable Fault fault) {
    InputStream in = store.open(name, offset, length);
    if (!(fault instanceof Fault.ShortRead) && !(fault instanceof Fault.FlipBit)) {
      return in;
    }
    try (in) {
      byte[] bytes = in.readAllBytes();
      if (fault instanceof Fault.ShortRead shortRead) {
        return new ByteArrayInputStream(bytes, 0, (int) Math.min(bytes.length, shortRead.bytes()));
      }
      return new ByteArrayInputStream(damaged(bytes, fault));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    Fault fault = begin(BlobOp.LIST, prefix, "");
    return effect(BlobOp.LIST, prefix, fault, () -> store.list(prefix));
  }

  @Override
  public void delete(Collection<String> names) {
    String what = String.join(" ", names);
    Fault fault = begin(BlobOp.DELETE, what, "");
    effect(
        BlobOp.DELETE,
        what,
        fault,
        () -> {
          store.delete(names);
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

  @Override
  public void close() {
    store.close();
  }

  private @Nullable Fault begin(BlobOp op, String name, String detail) {
    Fault fault = plan.begin(op, name, detail);
    return stopped ? new Fault.FailBefore() : fault;
  }

  private <T> T effect(BlobOp op, String name, @Nullable Fault fault, Supplier<T> call) {
    if (fault instanceof Fault.FailBefore) {
      throw injected(op, name, "before it took effect");
    }
    if (fault instanceof Fault.Throttle) {
      throw injected(op, name, "503 SlowDown");
    }
    if (fault instanceof Fault.Delay delay) {
      sleeper.accept(delay.duration());
    }
    T result = call.get();
    if (fault instanceof Fault.FailAfter) {
      throw injected(op, name, "after it took effect");
    }
    return result;
  }

  private static StateBackendException injected(BlobOp op, String name, String how) {
    return StateBackendException.unavailable(
        "injected failure of " + op.word() + " '" + name + "': " + how,
        new IOException("injected"));
  }

  private static byte[] damaged(byte[] bytes, @Nullable Fault fault) {
    if (fault instanceof Fault.FlipBit flip && bytes.length > 0) {
      byte[] copy = bytes.clone();
      copy[(int) (flip.at() % bytes.length)] ^= (byte) (1 << flip.bit());
      return copy;
    }
    if (fault instanceof Fault.Truncate truncate) {
      return Arrays.copyOf(bytes, (int) Math.min(bytes.length, truncate.bytes()));
    }
    return bytes;
  }

  private static byte[] bytesOf(List<ByteBuffer> content) {
    int size = content.stream().mapToInt(ByteBuffer::remaining).sum();
    ByteBuffer all = ByteBuffer.allocate(size);
    content.forEach(part -> all.put(part.duplicate()));
    return all.array();
  }

  private static byte[] bytesOf(Path file) {
    try {
      return Files.readAllBytes(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
