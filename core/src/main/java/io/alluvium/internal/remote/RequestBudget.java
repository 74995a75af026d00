package io.alluvium.internal.remote;

/**
 * How many further requests may be made beside the necessary ones: a fixed share of them, whatever
 * the latencies say. Thread-safe; guarded by {@code this}.
 */
final class RequestBudget {

  private final double share;
  private final double most;
  private double left;

  /**
   * @param share further requests for each necessary one
   * @param most how many may be saved up; this many are there at the start
   */
  RequestBudget(double share, double most) {
    this.share = share;
    this.most = most;
    this.left = most;
  }

  /** A necessary request is made. */
  synchronized void earn() {
    left = Math.min(most, left + share);
  }

  synchronized boolean spend() {
    if (left < 1) {
      return false;
    }
    left--;
    return true;
  }

  /** What was granted was not made. */
  synchronized void giveBack() {
    left++;
  }
}
