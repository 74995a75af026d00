package io.alluvium.spi;

/**
 * Walks changes in order without allocating. Confined to one thread. Ranges point into {@link
 * #array()}; what they point at stays as it is, also after the next call, for as long as somebody
 * holds the block.
 */
public interface ChangeCursor {

  /** Moves to the next change; false at the end. */
  boolean next();

  long sqn();

  Operation operation();

  byte[] array();

  int keyOffset();

  int keyLength();

  int valueOffset();

  int valueLength();
}
