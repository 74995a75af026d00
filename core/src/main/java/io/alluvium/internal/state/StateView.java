package io.alluvium.internal.state;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import org.jspecify.annotations.Nullable;

/**
 * A state at the current key and the selected namespace: what the kinds have in common. Confined to
 * the task thread; allocates nothing itself.
 */
abstract class StateView {

  final StateAccess<?> access;
  final String name;
  final int id;
  private final String of;
  private final ByteWriter namespace = new ByteWriter(0);
  private boolean selected;

  /** Starts with the empty namespace selected, that of a state without namespaces. */
  StateView(StateAccess<?> access, String name, int id) {
    this.access = access;
    this.name = name;
    this.id = id;
    this.selected = true;
    this.of = " of state '" + name + "'";
  }

  /** Begins every public call, see {@link StateAccess#enter}. */
  final void enter(String call) {
    access.enter(call, of);
  }

  final <N> void select(Codec<N> codec, N newNamespace) {
    enter("in");
    selected = false;
    namespace.clear();
    codec.write(newNamespace, namespace);
    selected = true;
  }

  /** The shared key buffer, filled up to the end of the row. */
  final ByteWriter row() {
    if (!selected) {
      throw StateBackendException.invalid(
          "no namespace of state '" + name + "' is selected; call in(namespace) first");
    }
    ByteWriter key = access.key;
    access.keyContext.startKey(key, id);
    key.writeVarInt(namespace.length());
    key.writeBytes(namespace.array(), 0, namespace.length());
    return key;
  }

  /** Reads the value of a key; {@code null} when there is none. */
  final <T> @Nullable T read(ByteWriter key, Codec<T> codec) {
    ByteWriter value = access.clearValue();
    if (!access.writePath.get(key, value)) {
      return null;
    }
    access.reader.reset(value.array(), 0, value.length());
    return codec.readAll(access.reader);
  }

  /** Writes the value at the current row. */
  final <T> void write(T newValue, Codec<T> codec) {
    ByteWriter value = access.clearValue();
    codec.write(newValue, value);
    access.writePath.put(row(), value);
  }

  final <T> Codec<T> values(Serializer<T> serializer) {
    return Codec.ofValues(serializer, "a value of state '" + name + "'");
  }

  /** Removes what one key holds; a kind with more keys in a row overrides it. */
  public void clear() {
    enter("clear");
    access.writePath.delete(row());
  }
}
