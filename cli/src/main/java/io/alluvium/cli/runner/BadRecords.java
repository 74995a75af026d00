package io.alluvium.cli.runner;

import java.util.Locale;

/** What happens at a record that the job cannot read. */
public enum BadRecords {
  /** The job stops with a message that names file and line. */
  FAIL,
  /** The record is left out and counted. */
  SKIP;

  /** As on the command line. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
