package io.alluvium.cli.job;

import java.io.Serial;

/**
 * A record that the job cannot read; the message completes the sentence "the row at line 7 of 'x'
 * ...".
 */
public final class BadRecordException extends Exception {

  @Serial private static final long serialVersionUID = 1L;

  public BadRecordException(String message) {
    super(message);
  }
}
