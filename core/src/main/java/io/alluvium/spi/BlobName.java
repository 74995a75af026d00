package io.alluvium.spi;

import io.alluvium.StateBackendException;
import java.util.Optional;

/**
 * Name of a data blob: {@code data/<incarnation>/<counter>.<log|table>}. The incarnation tells who
 * wrote it, the counter runs through the process, so that no name is ever used twice. Immutable.
 *
 * @param counter at least 0, written as 16 hexadecimal digits
 */
public record BlobName(Incarnation incarnation, long counter, Kind kind) {

  /** Where all data blobs stand. */
  public static final String PREFIX = "data/";

  private static final int COUNTER_AT = PREFIX.length() + 2 * Incarnation.BYTES + 1;

  /** What a data blob holds. */
  public enum Kind {
    /** A segment of the changelog. */
    LOG("log"),
    /** A file of a materialization. */
    TABLE("table");

    private final String suffix;

    Kind(String suffix) {
      this.suffix = suffix;
    }

    public String suffix() {
      return suffix;
    }
  }

  /** The name of a data blob, or empty when {@code text} is the name of something else. */
  public static Optional<BlobName> tryParse(String text) {
    int dot = text.indexOf('.', Math.min(COUNTER_AT, text.length()));
    if (!text.startsWith(PREFIX) || dot != COUNTER_AT + 16 || text.charAt(COUNTER_AT - 1) != '/') {
      return Optional.empty();
    }
    for (Kind kind : Kind.values()) {
      if (text.substring(dot + 1).equals(kind.suffix)) {
        try {
          BlobName name =
              new BlobName(
                  Incarnation.parse(text.substring(PREFIX.length(), COUNTER_AT - 1)),
                  Long.parseUnsignedLong(text, COUNTER_AT, dot, 16),
                  kind);
          return name.toString().equals(text) ? Optional.of(name) : Optional.empty();
        } catch (StateBackendException | NumberFormatException e) {
          return Optional.empty();
        }
      }
    }
    return Optional.empty();
  }

  public static BlobName parse(String text) {
    return tryParse(text)
        .orElseThrow(
            () ->
                StateBackendException.invalid(
                    "'"
                        + text
                        + "' is not a blob name of the form data/<incarnation>/<counter>.log|table"));
  }

  @Override
  public String toString() {
    return PREFIX + incarnation + "/" + String.format("%016x", counter) + "." + kind.suffix;
  }
}
