package io.alluvium.internal.catalog;

import io.alluvium.StateBackendException;
import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * A client's view of a shared store in memory: every call can be logged, failed before or after it
 * takes effect, or preceded by something else that happens meanwhile. Confined to one thread at a
 * time.
 */
final class ControlledStore implements BlobStore {

  /** One call: {@code op} is the method's name, {@code name} its blob or prefix. */
  record Call(String op, String name) {
    boolean is(String wantedOp, String prefix) {
      return op.equals(wantedOp) && name.startsWith(prefix);
    }
  }

  private record Hook(Predicate<Call> when, Runnable meanwhile) {}

  private record Failure(Predicate<Call> when, boolean afterEffect, int[] left) {}

  private final MemoryBlobStore shared;
  private final List<Call> calls = new ArrayList<>();
  private final List<Hook> hooks = new ArrayList<>();
  private final List<Failure> failures = new ArrayList<>();
  private final List<Predicate<Call>> refused = new ArrayList<>();
  private Runnable always = () -> {};
  private boolean conditional = true;

  ControlledStore(MemoryBlobStore.Content content) {
    this.shared = new MemoryBlobStore(content, "memory:test", () -> 1_000_000L);
  }

  /** Calls since the last {@link #clearCalls}. */
  List<Call> calls() {
    return calls;
  }

  void clearCalls() {
    calls.clear();
  }

  /** Runs something once, just before the next matching call takes effect: the caller stalls. */
  void before(Predicate<Call> when, Runnable meanwhile) {
    hooks.add(new Hook(when, meanwhile));
  }

  /** Runs something before every call takes effect. */
  void beforeEach(Runnable meanwhile) {
    always = meanwhile;
  }

  /** The next {@code times} matching calls fail without effect. */
  void failBefore(Predicate<Call> when, int times) {
    failures.add(new Failure(when, false, new int[] {times}));
  }

  /** The next {@code times} matching calls take effect, and the answer is lost. */
  void failAfter(Predicate<Call> when, int times) {
    failures.add(new Failure(when, true, new int[] {times}));
  }

  /** Matching calls are denied until {@link #heal}. */
  void refuse(Predicate<Call> when) {
    refused.add(when);
  }

  /** A store that overwrites what was to be stored only if absent. */
  void ignoreConditions() {
    conditional = false;
  }

  void heal() {
    failures.clear();
    refused.clear();
  }

  private <T> T call(String op, String name, Supplier<T> effect) {
    Call call = new Call(op, name);
    calls.add(call);
    always.run();
    for (Hook hook : List.copyOf(hooks)) {
      if (hook.when.test(call) && hooks.remove(hook)) {
        hook.meanwhile.run();
      }
    }
    if (refused.stream().anyMatch(each -> each.test(call))) {
      throw StateBackendException.invalid("access is denied to " + call);
    }
    for (Failure failure : failures) {
      if (failure.left[0] > 0 && failure.when.test(call)) {
        failure.left[0]--;
        if (failure.afterEffect) {
          T unused = effect.get();
        }
        throw StateBackendException.unavailable(
            "injected failure of " + call, new IllegalStateException("injected"));
      }
    }
    return effect.get();
  }

  private void run(String op, String name, Runnable effect) {
    Boolean unused =
        call(
            op,
            name,
            () -> {
              effect.run();
              return true;
            });
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    run("put", name, () -> shared.put(name, content));
  }

  @Override
  public void putFile(String name, Path file) {
    run("putFile", name, () -> shared.putFile(name, file));
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    return call(
        "putIfAbsent",
        name,
        () -> {
          if (!conditional) {
            shared.delete(List.of(name));
          }
          return shared.putIfAbsent(name, content);
        });
  }

  @Override
  public OptionalLong size(String name) {
    return call("size", name, () -> shared.size(name));
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    return call("open", name, () -> shared.open(name, offset, length));
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    return call("list", prefix, () -> shared.list(prefix));
  }

  @Override
  public void delete(Collection<String> names) {
    run("delete", names.iterator().next(), () -> shared.delete(names));
  }

  @Override
  public void deleteLeftovers(Duration olderThan) {
    run("deleteLeftovers", "", () -> {});
  }

  @Override
  public String uri() {
    return shared.uri();
  }

  @Override
  public void close() {}
}
