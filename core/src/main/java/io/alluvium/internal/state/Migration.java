package io.alluvium.internal.state;

import io.alluvium.StateRegistration;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.ListOperands;
import io.alluvium.spi.TableScan;

/**
 * Writes every value of a state anew in the format of another serializer, once, at registration.
 * The new values go through the write path, so that they are logged. Confined to the task thread.
 */
final class Migration<V> {

  /** An operand is written once it is longer than this. */
  private static final int OPERAND_BYTES = 1 << 20;

  private final StateAccess<?> access;
  private final int stateId;
  private final Codec<V> from;
  private final Codec<V> to;
  private final ByteReader reader = new ByteReader();

  Migration(StateAccess<?> access, StateRegistration state, Serializer<V> from, Serializer<V> to) {
    this.access = access;
    this.stateId = state.id();
    String role = "a value of state '" + state.name() + "'";
    this.from = Codec.ofValues(from, role);
    this.to = Codec.ofValues(to, role);
  }

  void migrateValues() {
    forEach(
        (key, value, length) -> {
          reader.reset(value, 0, length);
          ByteWriter out = access.clearValue();
          to.write(from.readAll(reader), out);
          access.writePath.put(key, out);
        });
  }

  /** In several operands: a list that grew by appends may be longer than a change. */
  void migrateLists() {
    ListOperands operands = new ListOperands();
    forEach(
        (key, value, length) -> {
          ByteWriter elements = access.clearScratch();
          boolean first = true;
          operands.reset(value, 0, length);
          while (operands.next()) {
            while (operands.hasElements()) {
              if (elements.length() >= OPERAND_BYTES) {
                writeOperand(key, elements, first);
                first = false;
                elements.clear();
              }
              to.write(from.read(operands.reader()), elements);
            }
          }
          writeOperand(key, elements, first);
        });
  }

  private void writeOperand(ByteWriter key, ByteWriter elements, boolean first) {
    ByteWriter operand = access.clearValue();
    ListOperands.write(operand, access.writePath.nextSqn(), elements);
    if (first) {
      access.writePath.put(key, operand);
    } else {
      access.writePath.merge(key, operand);
    }
  }

  private interface Rewrite {
    void apply(ByteWriter key, byte[] value, int length);
  }

  private void forEach(Rewrite rewrite) {
    ByteWriter prefix = new ByteWriter();
    ByteWriter key = access.key;
    int end = access.keyContext.keyGroups().to();
    for (int keyGroup = access.keyContext.keyGroups().from(); keyGroup < end; keyGroup++) {
      prefix.clear();
      KeyLayout.writeState(prefix, keyGroup, stateId);
      try (TableScan scan = access.writePath.scan(prefix)) {
        while (scan.next()) {
          key.clear();
          key.writeBytes(scan.key(), 0, scan.keyLength());
          rewrite.apply(key, scan.value(), scan.valueLength());
        }
      }
    }
  }
}
