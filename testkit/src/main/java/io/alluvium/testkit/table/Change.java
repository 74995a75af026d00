package io.alluvium.testkit.table;

import io.alluvium.spi.Operation;
import io.alluvium.spi.Table;
import java.util.HexFormat;

/**
 * One change of a table and a changelog. Immutable; the arrays must not be changed.
 *
 * @param value empty for deletions
 */
@SuppressWarnings("ArrayRecordComponent")
public record Change(long sqn, Operation operation, byte[] key, byte[] value) {

  /** Applies the change, with arrays that are longer than their content. */
  public void applyTo(Table table) {
    byte[] k = java.util.Arrays.copyOf(key, key.length + 3);
    byte[] v = java.util.Arrays.copyOf(value, value.length + 5);
    switch (operation) {
      case PUT -> table.put(k, key.length, v, value.length);
      case DELETE -> table.delete(k, key.length);
      case DELETE_RANGE -> table.deleteRange(k, key.length);
      case MERGE -> table.merge(k, key.length, v, value.length);
    }
  }

  @Override
  public String toString() {
    HexFormat hex = HexFormat.of();
    return sqn + " " + operation + " " + hex.formatHex(key) + " " + hex.formatHex(value);
  }
}
