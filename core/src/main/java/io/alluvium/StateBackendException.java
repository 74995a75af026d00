package io.alluvium;

import java.io.Serial;

/**
 * The one exception of Alluvium. Its {@link Kind} says what the caller must do; its message names
 * the thing, the value, the bound and the remedy in one sentence, fit to be shown to a user as it
 * is.
 */
public final class StateBackendException extends RuntimeException {

  @Serial private static final long serialVersionUID = 1L;

  /** What the caller must do. */
  public enum Kind {
    /** A storage or a resource does not answer now; the same call may succeed later. */
    UNAVAILABLE,
    /**
     * Stored bytes are damaged or missing; stop and inspect. The message names blob, offset,
     * expected and found.
     */
    CORRUPT,
    /** A version, format or schema that this build or this job does not read. */
    INCOMPATIBLE,
    /** Another owner has taken over the job; this one must stop and delete nothing. */
    FENCED,
    /** The object was used after {@code close()}. */
    CLOSED,
    /** The caller's mistake: an argument, a configuration, a name. */
    INVALID,
    /** A defect of Alluvium itself. */
    INTERNAL
  }

  private final Kind kind;

  private StateBackendException(Kind kind, String message) {
    super(message);
    this.kind = kind;
  }

  private StateBackendException(Kind kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  public Kind kind() {
    return kind;
  }

  /** With the kind, by which {@code docs/operations.md} says what to do. */
  @Override
  @SuppressWarnings("OverrideThrowableToString") // the message alone is for users, without the kind
  public String toString() {
    return getClass().getName() + ": " + kind + ": " + getMessage();
  }

  public static StateBackendException of(Kind kind, String message) {
    return new StateBackendException(kind, message);
  }

  public static StateBackendException of(Kind kind, String message, Throwable cause) {
    return new StateBackendException(kind, message, cause);
  }

  public static StateBackendException unavailable(String message, Throwable cause) {
    return new StateBackendException(Kind.UNAVAILABLE, message, cause);
  }

  /**
   * Damage in a blob at a known place.
   *
   * @param blob full name of the blob
   * @param offset where in the blob, in bytes from its start
   * @param expected what must stand there
   * @param found what stands there
   */
  public static StateBackendException corrupt(
      String blob, long offset, Object expected, Object found) {
    return new StateBackendException(
        Kind.CORRUPT,
        "blob '"
            + blob
            + "' is damaged at offset "
            + offset
            + ": expected "
            + expected
            + ", found "
            + found);
  }

  public static StateBackendException corrupt(String message) {
    return new StateBackendException(Kind.CORRUPT, message);
  }

  public static StateBackendException incompatible(String message) {
    return new StateBackendException(Kind.INCOMPATIBLE, message);
  }

  public static StateBackendException fenced(String message) {
    return new StateBackendException(Kind.FENCED, message);
  }

  public static StateBackendException closed(String message) {
    return new StateBackendException(Kind.CLOSED, message);
  }

  public static StateBackendException invalid(String message) {
    return new StateBackendException(Kind.INVALID, message);
  }

  public static StateBackendException internal(String message) {
    return new StateBackendException(Kind.INTERNAL, message);
  }
}
