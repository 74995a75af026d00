package io.alluvium.internal.state;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteReader;
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
  private final ByteWriter namespace = new ByteWriter(0);
  private boolean selected;

  /** Starts with the empty namespace selected, that of a state without namespaces. */
  StateView(StateAccess<?> access, String name, int id) {
    this.access = access;
    this.name = name;
    this.id = id;
    this.selected = true;
  }

  final <N> void select(Serializer<N> serializer, N newNamespace) {
    selected = false;
    namespace.clear();
    serializer.write(newNamespace, namespace);
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
  final <T> @Nullable T read(ByteWriter key, Serializer<T> serializer) {
    ByteWriter value = access.clearValue();
    if (!access.writePath.get(key, value)) {
      return null;
    }
    access.reader.reset(value.array(), 0, value.length());
    T read = decode(serializer, access.reader);
    if (access.reader.remaining() != 0) {
      throw StateBackendException.corrupt(
          "a stored value of state '"
              + name
              + "' has "
              + access.reader.remaining()
              + " bytes more than its serializer "
              + serializer.snapshot()
              + " reads");
    }
    return read;
  }

  /** Reads one value and names the state when the bytes are not what the serializer expects. */
  final <T> T decode(Serializer<T> serializer, ByteReader in) {
    try {
      return serializer.read(in);
    } catch (StateBackendException e) {
      throw StateBackendException.of(e.kind(), "state '" + name + "': " + e.getMessage(), e);
    }
  }

  /** Writes the value at the current row. */
  final <T> void write(T newValue, Serializer<T> serializer) {
    ByteWriter value = access.clearValue();
    serializer.write(newValue, value);
    access.writePath.put(row(), value);
  }

  /** Removes what one key holds; a kind with more keys in a row overrides it. */
  public void clear() {
    access.writePath.delete(row());
  }
}
