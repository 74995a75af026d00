package io.alluvium.testkit.blob;

import java.time.Duration;

/** A fault of one call. Immutable. */
public sealed interface Fault {

  /** Fails with {@code UNAVAILABLE} and has no effect. */
  record FailBefore() implements Fault {
    @Override
    public String toString() {
      return "fail before";
    }
  }

  /** Takes effect, then fails with {@code UNAVAILABLE}: a lost answer. */
  record FailAfter() implements Fault {
    @Override
    public String toString() {
      return "fail after";
    }
  }

  /** Fails with {@code UNAVAILABLE}, like a throttling response of an object store. */
  record Throttle() implements Fault {
    @Override
    public String toString() {
      return "throttle";
    }
  }

  /** Succeeds after a delay. */
  record Delay(Duration duration) implements Fault {
    @Override
    public String toString() {
      return "delay " + duration.toMillis() + "ms";
    }
  }

  /** A read ends after {@code bytes} bytes. */
  record ShortRead(long bytes) implements Fault {
    @Override
    public String toString() {
      return "short " + bytes;
    }
  }

  /**
   * Inverts one bit of the content that is read or stored. {@code at} is the byte in that content,
   * modulo its length.
   */
  record FlipBit(long at, int bit) implements Fault {
    @Override
    public String toString() {
      return "flip " + at + "." + bit;
    }
  }

  /** Stores only the first bytes and succeeds: silent damage. */
  record Truncate(long bytes) implements Fault {
    @Override
    public String toString() {
      return "truncate " + bytes;
    }
  }
}
