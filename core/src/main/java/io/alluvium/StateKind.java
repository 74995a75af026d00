package io.alluvium;

/** The kinds of state; stored with each registration by {@link #code()}. */
public enum StateKind {
  VALUE(1),
  LIST(2),
  MAP(3),
  REDUCING(4),
  AGGREGATING(5),
  TIMERS(6);

  private final int code;

  StateKind(int code) {
    this.code = code;
  }

  /** The stored form, one byte. */
  public int code() {
    return code;
  }

  public static StateKind ofCode(int code) {
    for (StateKind kind : values()) {
      if (kind.code == code) {
        return kind;
      }
    }
    throw StateBackendException.incompatible(
        "state kind code " + code + " is not known to this version of Alluvium");
  }
}
