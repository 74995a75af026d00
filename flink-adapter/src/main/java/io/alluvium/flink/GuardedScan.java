package io.alluvium.flink;

import io.alluvium.spi.TableScan;
import java.io.IOException;

/**
 * A scan that one thread walks and another may close at any time: it is never closed while native
 * code reads it. The arrays are valid until the next call. Thread-safe in that sense.
 */
final class GuardedScan implements AutoCloseable {

  private final TableScan scan;
  private boolean closed;

  /** Owns {@code scan}. */
  GuardedScan(TableScan scan) {
    this.scan = scan;
  }

  synchronized boolean next() throws IOException {
    if (closed) {
      throw new IOException("the savepoint was cancelled, or the keyed backend was closed");
    }
    return scan.next();
  }

  byte[] key() {
    return scan.key();
  }

  int keyLength() {
    return scan.keyLength();
  }

  byte[] value() {
    return scan.value();
  }

  int valueLength() {
    return scan.valueLength();
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      scan.close();
    }
  }
}
