package io.alluvium.spi;

import io.alluvium.StateBackendException;

/**
 * The four physical operations that a change can be. All are idempotent in order: replaying a
 * suffix over a table that already holds part of it gives the same table.
 */
public enum Operation {
  /** Sets the value of a key. */
  PUT(1),
  /** Removes a key. */
  DELETE(2),
  /**
   * Removes every key that starts with the given prefix; the prefix holds at least key group and
   * state id.
   */
  DELETE_RANGE(3),
  /**
   * Appends an operand to the value of a key; each operand carries its own sequence number, see
   * {@code ListOperands}.
   */
  MERGE(4);

  private final int code;

  Operation(int code) {
    this.code = code;
  }

  /** The stored form, one byte. */
  public int code() {
    return code;
  }

  public static Operation ofCode(int code) {
    return switch (code) {
      case 1 -> PUT;
      case 2 -> DELETE;
      case 3 -> DELETE_RANGE;
      case 4 -> MERGE;
      default ->
          throw StateBackendException.corrupt("operation code " + code + " must lie within [1, 4]");
    };
  }
}
