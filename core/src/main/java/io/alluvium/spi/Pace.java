package io.alluvium.spi;

/**
 * Slows an upload down: asked before each piece of content is sent. Thread-safe; waits only through
 * {@link Execution}.
 */
@FunctionalInterface
public interface Pace {

  /** As fast as it goes. */
  Pace NONE = bytes -> {};

  /**
   * Waits until the next piece may be sent.
   *
   * @param bytes size of that piece
   * @throws io.alluvium.StateBackendException when the upload is to end instead
   */
  void await(long bytes);
}
