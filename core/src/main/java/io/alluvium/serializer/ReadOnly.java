package io.alluvium.serializer;

import io.alluvium.StateBackendException;

/**
 * Reads values in an older format, for a migration. Writing throws. As thread-safe as its {@code
 * read}.
 *
 * @param <T> type of the values
 */
abstract class ReadOnly<T> implements Serializer<T> {

  private final SerializerSnapshot written;

  ReadOnly(SerializerSnapshot written) {
    this.written = written;
  }

  @Override
  public final void write(T value, ByteWriter out) {
    throw StateBackendException.internal("the old format " + written + " can only be read");
  }

  @Override
  public final SerializerSnapshot snapshot() {
    return written;
  }
}
