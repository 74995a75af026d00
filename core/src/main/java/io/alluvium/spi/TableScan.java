package io.alluvium.spi;

/**
 * Walks entries of a table in ascending key order. Arrays are valid until the next call. Confined
 * to one thread. Closed with its table, on whatever thread that is: then {@link #next} throws
 * {@code CLOSED}.
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
