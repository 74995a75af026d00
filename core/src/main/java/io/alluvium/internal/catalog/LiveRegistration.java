package io.alluvium.internal.catalog;

/** A live set that is asked at every collection, until this is closed. Thread-safe. */
@FunctionalInterface
public interface LiveRegistration extends AutoCloseable {

  /** Idempotent. */
  @Override
  void close();
}
