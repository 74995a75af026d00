package io.alluvium.cli.job;

/**
 * Windows {@code [k * slide, k * slide + window)} counted from the epoch, for event times before it
 * too. Immutable.
 */
record SlidingWindows(long windowMillis, long slideMillis) {

  /**
   * Start of the last window that can hold an event of this time: the greatest one not after it.
   */
  long lastStart(long timeMillis) {
    return Math.floorDiv(timeMillis, slideMillis) * slideMillis;
  }

  /**
   * Whether the window that starts at {@code start} holds the time; those before it by steps of the
   * slide hold it until the first that does not.
   */
  boolean holds(long start, long timeMillis) {
    return timeMillis >= start && timeMillis < start + windowMillis;
  }

  long end(long start) {
    return start + windowMillis;
  }
}
