package io.alluvium.testkit.blob;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which calls of a blob store go wrong, and which were made. Thread-safe; guarded by {@code this}.
 */
public final class FaultPlan {

  /**
   * A call.
   *
   * @param detail size or range, for people
   * @param fault what went wrong, if anything did
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

  /** A rule and how many calls matched it. The first rule that hits decides; all count. */
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

  /** Adds a rule, see {@link FaultRule}; its calls are counted from now on. */
  public void rule(String line) {
    rule(FaultRule.parse(line));
  }

  public synchronized void rule(FaultRule rule) {
    rules.add(new Armed(rule));
  }

  /** Lets the call of that number fail, counted from 0 over all calls. */
  public synchronized void failCall(int number, Fault fault) {
    byNumber.put(number, fault);
  }

  /** Forgets what shall go wrong. */
  public synchronized void clear() {
    rules.clear();
    byNumber.clear();
  }

  /** Forgets counts and calls. */
  public synchronized void clearCalls() {
    calls.clear();
    counts.clear();
  }

  /** How many calls of a kind were made. */
  public synchronized int count(BlobOp op) {
    return counts.getOrDefault(op, 0);
  }

  /** Every call so far, in order. */
  public synchronized List<Call> calls() {
    return List.copyOf(calls);
  }

  /** Every call so far, one line each. */
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
