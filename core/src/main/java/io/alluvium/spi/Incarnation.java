package io.alluvium.spi;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import java.util.HexFormat;
import java.util.random.RandomGenerator;

/**
 * The identity of one takeover attempt of a job: 128 random bits, fresh for every attempt, part of
 * the name of every blob that its owner writes. Immutable.
 */
public record Incarnation(long high, long low) {

  /** Stored form: 16 bytes, big endian. */
  public static final int BYTES = 16;

  private static final HexFormat HEX = HexFormat.of();

  public static Incarnation random(RandomGenerator random) {
    return new Incarnation(random.nextLong(), random.nextLong());
  }

  public static Incarnation parse(String text) {
    if (text.length() != 2 * BYTES) {
      throw StateBackendException.invalid(
          "incarnation '" + text + "' must be " + 2 * BYTES + " hexadecimal digits");
    }
    try {
      return new Incarnation(
          HexFormat.fromHexDigitsToLong(text, 0, BYTES),
          HexFormat.fromHexDigitsToLong(text, BYTES, 2 * BYTES));
    } catch (IllegalArgumentException e) {
      throw StateBackendException.of(
          StateBackendException.Kind.INVALID, "incarnation '" + text + "' is not hexadecimal", e);
    }
  }

  public void write(ByteWriter out) {
    out.writeLong(high);
    out.writeLong(low);
  }

  public static Incarnation read(ByteReader in) {
    return new Incarnation(in.readLong(), in.readLong());
  }

  /** 32 lower-case hexadecimal digits. */
  @Override
  public String toString() {
    return HEX.toHexDigits(high) + HEX.toHexDigits(low);
  }
}
