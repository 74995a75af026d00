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
 * The new values go through the write path as PUTs, so that they are logged. Confined to the task
 * thread.
 */
final class Migration<V> {

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
    migrate(
        (value, length, out) -> {
          reader.reset(value, 0, length);
          to.write(from.readAll(reader), out);
        });
  }

  void migrateLists() {
    ListOperands operands = new ListOperands();
    migrate(
        (value, length, out) -> {
          ByteWriter elements = access.clearScratch();
          operands.reset(value, 0, length);
          while (operands.next()) {
            while (operands.hasElements()) {
              to.write(from.read(operands.reader()), elements);
            }
          }
          ListOperands.write(out, access.writePath.nextSqn(), elements);
        });
  }

  private interface Rewrite {
    void apply(byte[] value, int length, ByteWriter out);
  }

  private void migrate(Rewrite rewrite) {
    ByteWriter prefix = new ByteWriter();
    ByteWriter key = access.key;
    int end = access.keyContext.keyGroups().to();
    for (int keyGroup = access.keyContext.keyGroups().from(); keyGroup < end; keyGroup++) {
      prefix.clear();
      KeyLayout.writeState(prefix, keyGroup, stateId);
      try (TableScan scan = access.writePath.scan(prefix)) {
        while (scan.next()) {
          ByteWriter value = access.clearValue();
          rewrite.apply(scan.value(), scan.valueLength(), value);
          key.clear();
          key.writeBytes(scan.key(), 0, scan.keyLength());
          access.writePath.put(key, value);
        }
      }
    }
  }
}
