package io.alluvium.cli.runner;

/** What happens at a record that the job cannot read. */
public enum BadRecords {
  /** The job stops with a message that names file and line. */
  FAIL,
  /** The record is left out and counted. */
  SKIP
}
