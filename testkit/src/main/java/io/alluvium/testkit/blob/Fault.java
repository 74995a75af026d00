package io.alluvium.testkit.blob;

import java.time.Duration;

/** What goes wrong with a call. Immutable. */
public sealed interface Fault {

  /** {@code UNAVAILABLE}, and nothing happened. */
  record FailBefore() implements Fault {
    @Override
    public String toString() {
      return "fail before";
    }
  }

  /** {@code UNAVAILABLE}, although it took effect: a lost answer. */
  record FailAfter() implements Fault {
    @Override
    public String toString() {
      return "fail after";
    }
  }

  /** {@code UNAVAILABLE}, as an object store says that it gets too many requests. */
  record Throttle() implements Fault {
    @Override
    public String toString() {
      return "throttle";
    }
  }

  /** Takes longer, then succeeds. */
  record Delay(Duration duration) implements Fault {
    @Override
    public String toString() {
      return "delay " + duration.toMillis() + "ms";
    }
  }

  /** A read ends after that many bytes. */
  record ShortRead(long bytes) implements Fault {
    @Override
    public String toString() {
      return "short " + bytes;
    }
  }

  /**
   * One bit of what is read, or stored, is inverted; the byte counts from the start of what the
   * call moves, modulo its length.
   */
  record FlipBit(long at, int bit) implements Fault {
    @Override
    public String toString() {
      return "flip " + at + "." + bit;
    }
  }

  /** Only the first bytes are stored, and the call succeeds: a store that lies. */
  record Truncate(long bytes) implements Fault {
    @Override
    public String toString() {
      return "truncate " + bytes;
    }
  }
}
