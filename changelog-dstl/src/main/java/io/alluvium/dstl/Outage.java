package io.alluvium.dstl;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells once of each time for which the store refuses the log. Thread-safe. */
final class Outage {

  private static final Logger LOG = LoggerFactory.getLogger(Outage.class);

  /** Shorter trouble is no news. */
  static final int TOLD_FROM_ATTEMPTS = 3;

  private boolean told;

  /**
   * A segment was refused again.
   *
   * @param attempts so far
   */
  void refused(int attempts, String message) {
    synchronized (this) {
      if (told || attempts < TOLD_FROM_ATTEMPTS) {
        return;
      }
      told = true;
    }
    LOG.warn("{}; further failures are not told", message);
  }

  /** A segment was stored. */
  void stored() {
    synchronized (this) {
      if (!told) {
        return;
      }
      told = false;
    }
    LOG.info("segments of the changelog are stored again");
  }
}
