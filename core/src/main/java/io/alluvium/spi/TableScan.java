package io.alluvium.spi;

/**
 * Walks entries of a table in ascending key order. Arrays are valid until the next call. Confined
 * to one thread.
 */
public interface TableScan extends AutoCloseable {

  /** Moves to the next entry; false at the end. */
  boolean next();

  byte[] key();

  int keyLength();

  byte[] value();

  int valueLength();

  @Override
  void close();
}
