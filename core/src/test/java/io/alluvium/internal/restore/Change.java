package io.alluvium.internal.restore;

import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Operation;
import java.util.Arrays;

/** A change as tests write it down. */
record Change(long sqn, Operation operation, byte[] key, byte[] value) {

  int keyGroup() {
    return KeyLayout.keyGroup(key, 0);
  }

  @Override
  public String toString() {
    return sqn + " " + operation + " " + Arrays.toString(key) + " " + Arrays.toString(value);
  }
}
