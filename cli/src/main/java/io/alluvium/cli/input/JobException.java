package io.alluvium.cli.input;

import java.io.Serial;

/**
 * Something outside of the program that stops a command: its message is one sentence that names the
 * thing and the remedy, fit to be shown to a user as it is.
 */
public final class JobException extends RuntimeException {

  @Serial private static final long serialVersionUID = 1L;

  /** Whose mistake it is. */
  public enum Blame {
    /** The world's: a file, a disk, another process. */
    ENVIRONMENT,
    /** The command line's, or the configuration's. */
    USAGE
  }

  private final Blame blame;

  public JobException(String message) {
    super(message);
    this.blame = Blame.ENVIRONMENT;
  }

  public JobException(String message, Throwable cause) {
    super(message, cause);
    this.blame = Blame.ENVIRONMENT;
  }

  private JobException(Blame blame, String message) {
    super(message);
    this.blame = blame;
  }

  private JobException(Blame blame, String message, Throwable cause) {
    super(message, cause);
    this.blame = blame;
  }

  /** A mistake in the command line or the configuration. */
  public static JobException usage(String message) {
    return new JobException(Blame.USAGE, message);
  }

  /** As {@link #usage(String)}, with what found it. */
  public static JobException usage(String message, Throwable cause) {
    return new JobException(Blame.USAGE, message, cause);
  }

  public Blame blame() {
    return blame;
  }
}
