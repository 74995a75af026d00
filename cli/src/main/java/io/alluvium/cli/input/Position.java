package io.alluvium.cli.input;

/**
 * How far a split was read. Immutable.
 *
 * @param offset of the first byte that was not read, within the file
 * @param line number of the physical line at {@code offset}, counted from 1
 * @param maxTimeMillis greatest event time seen in the split; {@link #NO_TIME} before any
 */
public record Position(long offset, long line, long maxTimeMillis) {

  /** Of a split without any event yet, and of records without a time. */
  public static final long NO_TIME = Long.MIN_VALUE;

  /** The start of a split. */
  public static Position startOf(Split split) {
    return new Position(split.start(), split.firstLine(), NO_TIME);
  }
}
