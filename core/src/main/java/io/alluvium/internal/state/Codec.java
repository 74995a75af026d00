package io.alluvium.internal.state;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A user's serializer in one role, for example the values of one state. Every value goes through
 * here, so that a null or a faulty serializer is an {@code INVALID} that names the role. Confined
 * to the task thread; allocates nothing after the first value.
 *
 * @param <T> type of the values
 */
public final class Codec<T> {

  /*
   * The first value is read back at once: a serializer that does not read what it wrote is told before anything of it
   * is stored, not at the restore. The bytes come from the table, which is checked against damage on its own; so bytes
   * that do not fit are the serializer's fault.
   */
  private final Serializer<T> serializer;
  private final String role;
  private final Use use;
  private boolean proved;

  /** What the bytes are for. */
  private enum Use {
    VALUE,
    ADDRESS
  }

  private Codec(Serializer<T> serializer, String role, Use use) {
    this.serializer = serializer;
    this.role = role;
    this.use = use;
  }

  /**
   * @param role what one value is, for messages: "a value of state 'counts'"
   */
  static <T> Codec<T> ofValues(Serializer<T> serializer, String role) {
    SerializerSnapshot unused = Arguments.snapshotOf(serializer, role);
    return new Codec<>(serializer, role, Use.VALUE);
  }

  /**
   * For what state is addressed by: keys, namespaces, user keys of maps.
   *
   * @throws StateBackendException {@code INVALID} when equal values may give different bytes
   */
  public static <T> Codec<T> ofAddresses(Serializer<T> serializer, String role) {
    requireDeterministic(serializer, role);
    return new Codec<>(serializer, role, Use.ADDRESS);
  }

  /** As {@link #ofAddresses}, for who checks before anything is registered. */
  static void requireDeterministic(Serializer<?> serializer, String role) {
    SerializerSnapshot snapshot = Arguments.snapshotOf(serializer, role);
    if (!serializer.isDeterministic()) {
      throw StateBackendException.invalid(
          "serializer "
              + snapshot
              + " cannot serve for "
              + role
              + ", because equal values of it may have different bytes: sort them into a list, or use a record");
    }
  }

  /** What reads a written format; a serializer that answers null is told so. */
  public static <T> Optional<Serializer<T>> readerOf(
      Serializer<T> serializer, SerializerSnapshot written) {
    Optional<Serializer<T>> reader = serializer.readerOf(written);
    if (reader == null) {
      throw StateBackendException.invalid(
          "serializer "
              + serializer.snapshot()
              + " answered null when it was asked who reads "
              + written
              + "; return an empty Optional when nothing does");
    }
    return reader;
  }

  Serializer<T> serializer() {
    return serializer;
  }

  /** Appends a value. What stood in {@code out} before is kept even when this fails. */
  public void write(T value, ByteWriter out) {
    check(value);
    int from = out.length();
    try {
      serializer.write(value, out);
    } catch (RuntimeException e) {
      throw failed("cannot write " + role, e);
    }
    if (!proved) {
      prove(out, from);
      proved = true;
    }
  }

  /** Throws {@code INVALID} for a null. */
  void check(@Nullable T value) {
    if (value == null) {
      throw StateBackendException.invalid(
          role + " is null, which cannot be stored; clear or remove the entry, or use an Optional");
    }
  }

  private void prove(ByteWriter out, int from) {
    ByteReader in = new ByteReader(out.array(), from, out.length() - from);
    T value = readAll(in);
    if (use == Use.ADDRESS) {
      ByteWriter again = new ByteWriter();
      serializer.write(value, again);
      if (!Arrays.equals(out.array(), from, out.length(), again.array(), 0, again.length())) {
        throw StateBackendException.invalid(
            "serializer "
                + serializer.snapshot()
                + " gave "
                + role
                + " other bytes the second time; equal values must have equal bytes, because state is found by them");
      }
    }
  }

  /** Reads one value and leaves {@code in} behind it. */
  T read(ByteReader in) {
    @Nullable T value;
    try {
      value = serializer.read(in);
    } catch (RuntimeException e) {
      throw failed("cannot read " + role, e);
    }
    if (value == null) {
      throw StateBackendException.invalid(
          text("cannot read " + role) + "it read a null; it must return what was written");
    }
    return value;
  }

  /** Reads the value that takes all of {@code in}. */
  public T readAll(ByteReader in) {
    int length = in.remaining();
    T value = read(in);
    if (in.remaining() != 0) {
      throw StateBackendException.invalid(
          "serializer "
              + serializer.snapshot()
              + " read only "
              + (length - in.remaining())
              + " of the "
              + length
              + " bytes of "
              + role
              + "; it must read exactly what it wrote");
    }
    return value;
  }

  /** That it read more bytes than a value has, which only showed afterwards. */
  StateBackendException readTooMuch(StateBackendException cause) {
    return failed("cannot read " + role, cause);
  }

  private StateBackendException failed(String what, RuntimeException e) {
    if (e instanceof StateBackendException known && known.kind() != Kind.CORRUPT) {
      return StateBackendException.of(known.kind(), text(what) + known.getMessage(), e);
    }
    String cause =
        e instanceof StateBackendException
            ? e.getMessage() + "; it must read exactly what it wrote"
            : e.toString()
                + (e instanceof NullPointerException
                    ? "; nothing within a value may be null, use an Optional in its place"
                    : "");
    return StateBackendException.of(Kind.INVALID, text(what) + cause, e);
  }

  private String text(String what) {
    return "serializer " + serializer.snapshot() + " " + what + ": ";
  }
}
