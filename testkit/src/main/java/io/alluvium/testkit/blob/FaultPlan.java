package io.alluvium.testkit.blob;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Decides which calls of a blob store fail, and records all calls. Thread-safe; guarded by {@code
 * this}.
 */
public final class FaultPlan {

  /**
   * A recorded call.
   *
   * @param detail size or range, human-readable
   * @param fault the injected fault, if any
   */
  public record Call(BlobOp op, String name, String detail, @Nullable Fault fault) {
    @Override
    public String toString() {
      return op.word()
          + " "
          + name
          + (detail.isEmpty() ? "" : " " + detail)
          + (fault == null ? "" : " -> " + fault);
    }
  }

  /** A rule with its number of matching calls. The first rule that applies decides; all count. */
  private static final class Armed {
    private final FaultRule rule;
    private int seen;

    private Armed(FaultRule rule) {
      this.rule = rule;
    }
  }

  @GuardedBy("this")
  private final List<Armed> rules = new ArrayList<>();

  @GuardedBy("this")
  private final Map<Integer, Fault> byNumber = new HashMap<>();

  @GuardedBy("this")
  private final List<Call> calls = new ArrayList<>();

  @GuardedBy("this")
  private final Map<BlobOp, Integer> counts = new EnumMap<>(BlobOp.class);

  /** Adds a rule, see {@link FaultRule}; only later calls are counted. */
  public void rule(String line) {
    rule(FaultRule.parse(line));
  }

  public synchronized void rule(FaultRule rule) {
    rules.add(new Armed(rule));
  }

  /** Injects a fault into one call by its number, counted from 0 over all calls. */
  public synchronized void failCall(int number, Fault fault) {
    byNumber.put(number, fault);
  }

  /** Removes all rules. */
  public synchronized void clear() {
    rules.clear();
    byNumber.clear();
  }

  /** Removes the recorded calls and their counts. */
  public synchronized void clearCalls() {
    calls.clear();
    counts.clear();
  }

  /** Number of calls of one kind. */
  public synchronized int count(BlobOp op) {
    return counts.getOrDefault(op, 0);
  }

  /** All calls so far, in order. */
  public synchronized List<Call> calls() {
    return List.copyOf(calls);
  }

  /** All calls so far, one line each. */
  public List<String> trace() {
    return calls().stream().map(Call::toString).toList();
  }

  synchronized @Nullable Fault begin(BlobOp op, String name, String detail) {
    Fault fault = byNumber.get(calls.size());
    for (Armed armed : rules) {
      if (armed.rule.concerns(op, name)) {
        armed.seen++;
        if (fault == null && armed.rule.hits(armed.seen)) {
          fault = armed.rule.fault();
        }
      }
    }
    counts.merge(op, 1, Integer::sum);
    calls.add(new Call(op, name, detail, fault));
    return fault;
  }
}
