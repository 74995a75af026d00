package io.alluvium.spi;

import java.util.Arrays;

/** A scan without the entries before a key. Confined to one thread. */
final class LaterScan implements TableScan {

  private final TableScan all;
  private final byte[] from;
  private boolean reached;

  /** Owns {@code all}. */
  LaterScan(TableScan all, byte[] from) {
    this.all = all;
    this.from = from;
  }

  @Override
  public boolean next() {
    while (all.next()) {
      reached =
          reached
              || Arrays.compareUnsigned(all.key(), 0, all.keyLength(), from, 0, from.length) >= 0;
      if (reached) {
        return true;
      }
    }
    return false;
  }

  @Override
  public byte[] key() {
    return all.key();
  }

  @Override
  public int keyLength() {
    return all.keyLength();
  }

  @Override
  public byte[] value() {
    return all.value();
  }

  @Override
  public int valueLength() {
    return all.valueLength();
  }

  @Override
  public void close() {
    all.close();
  }
}
