package io.alluvium.flink;

import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.ListOperands;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.runtime.state.ttl.TtlValue;
import org.jspecify.annotations.Nullable;

/**
 * A list per row: operands of core, each holding elements in the form of Flink's savepoints, so
 * that moving them to and from a savepoint takes no serializer. Confined to the task thread.
 */
final class ListKvState<K, N, E> extends KvState<K, N, List<E>>
    implements InternalListState<K, N, E> {

  /** A piece of a list is written once it is longer than this. */
  private static final int PIECE_BYTES = 1 << 20;

  private final ListOperands operands = new ListOperands();
  private final DataOutputSerializer elements = new DataOutputSerializer(128);

  ListKvState(Access<K> access, Registration<N, List<E>> registration) {
    super(access, registration);
  }

  private TypeSerializer<E> elementSerializer() {
    return ((ListSerializer<E>) valueSerializer).getElementSerializer();
  }

  @Override
  public @Nullable Iterable<E> get() throws IOException {
    return getInternal();
  }

  @Override
  public @Nullable List<E> getInternal() throws IOException {
    ByteWriter stored = access.read(row());
    return stored == null ? null : read(stored);
  }

  private List<E> read(ByteWriter stored) throws IOException {
    List<E> list = new ArrayList<>();
    operands.reset(stored.array(), 0, stored.length());
    DataInputDeserializer in = access.in;
    TypeSerializer<E> serializer = elementSerializer();
    while (operands.next()) {
      in.setBuffer(stored.array(), operands.reader().position(), operands.payloadLength());
      while (in.available() > 0) {
        list.add(serializer.deserialize(in));
        Lists.skipDelimiter(in);
      }
    }
    return list;
  }

  @Override
  public void add(E value) throws IOException {
    Objects.requireNonNull(value, "You cannot add null to a ListState.");
    elements.clear();
    elementSerializer().serialize(value, elements);
    append();
  }

  @Override
  public void addAll(List<E> values) throws IOException {
    Objects.requireNonNull(values, "List of values to add cannot be null.");
    if (!values.isEmpty()) {
      encode(values);
      append();
    }
  }

  @Override
  public void update(List<E> values) throws IOException {
    updateInternal(values);
  }

  @Override
  public void updateInternal(List<E> values) throws IOException {
    Objects.requireNonNull(values, "List of values to add cannot be null.");
    if (values.isEmpty()) {
      clear();
    } else {
      encode(values);
      access.put(row(), operand());
    }
  }

  private void encode(List<E> values) throws IOException {
    elements.clear();
    TypeSerializer<E> serializer = elementSerializer();
    for (E value : values) {
      Objects.requireNonNull(value, "You cannot add null to a value list.");
      if (elements.length() > 0) {
        elements.writeByte(Lists.DELIMITER);
      }
      serializer.serialize(value, elements);
    }
  }

  private void append() throws IOException {
    access.merge(row(), operand());
  }

  private DataOutputSerializer operand() throws IOException {
    DataOutputSerializer operand = access.clearValue();
    Lists.writeOperand(operand, access.bytes.nextSqn(), elements);
    return operand;
  }

  @Override
  public void mergeNamespaces(N target, @Nullable Collection<N> sources) throws IOException {
    if (sources == null || sources.isEmpty()) {
      return;
    }
    setCurrentNamespace(target);
    byte[] to = Access.copy(row());
    for (N source : sources) {
      if (source != null) {
        setCurrentNamespace(source);
        moveTo(to);
      }
    }
    setCurrentNamespace(target);
  }

  /** Removes nothing before it is appended: a change may be refused. */
  private void moveTo(byte[] target) throws IOException {
    DataOutputSerializer row = row();
    if (Arrays.equals(row.getSharedBuffer(), 0, row.length(), target, 0, target.length)) {
      return;
    }
    ByteWriter stored = access.read(row);
    if (stored != null) {
      Pieces pieces = new Pieces(target, false);
      operands.reset(stored.array(), 0, stored.length());
      while (operands.next()) {
        pieces.addAll(stored.array(), operands.reader().position(), operands.payloadLength());
      }
      pieces.end();
      clear();
    }
  }

  @Override
  @Nullable List<E> valueAt(byte[] row) throws IOException {
    ByteWriter stored = access.read(row, row.length);
    return stored == null ? null : read(stored);
  }

  @Override
  void replaceAt(byte[] row, List<E> before, List<E> newValue) throws IOException {
    Pieces pieces = new Pieces(row, true);
    for (E element : newValue) {
      pieces.add(element);
    }
    pieces.end();
  }

  /**
   * Writes a list in several operands: one that grew by appends may be longer than a change.
   * Confined to the task thread.
   */
  private final class Pieces {
    private final byte[] row;
    private final TypeSerializer<E> serializer = elementSerializer();
    private boolean replaces;

    /**
     * One at a time.
     *
     * @param replaces what the row holds, instead of being appended to it
     */
    Pieces(byte[] row, boolean replaces) {
      this.row = row;
      this.replaces = replaces;
      elements.clear();
    }

    void add(E element) throws IOException {
      Objects.requireNonNull(element, "You cannot add null to a value list.");
      serializer.serialize(element, next());
    }

    /** Adds elements in the form of a savepoint; of a long operand each by itself. */
    void addAll(byte[] bytes, int offset, int length) throws IOException {
      if (length <= PIECE_BYTES) {
        next().write(bytes, offset, length);
        return;
      }
      DataInputDeserializer in = access.in;
      in.setBuffer(bytes, offset, length);
      while (in.available() > 0) {
        int start = in.getPosition();
        E unused = serializer.deserialize(in);
        next().write(bytes, start, in.getPosition() - start);
        Lists.skipDelimiter(in);
      }
    }

    private DataOutputSerializer next() throws IOException {
      if (elements.length() >= PIECE_BYTES) {
        end();
      }
      if (elements.length() > 0) {
        elements.writeByte(Lists.DELIMITER);
      }
      return elements;
    }

    /** Writes what is left. */
    void end() throws IOException {
      if (replaces || elements.length() > 0) {
        DataOutputSerializer operand = operand();
        if (replaces) {
          access.bytes.put(row, row.length, operand.getSharedBuffer(), operand.length());
        } else {
          access.bytes.merge(row, row.length, operand.getSharedBuffer(), operand.length());
        }
        replaces = false;
        elements.clear();
      }
    }
  }

  @Override
  boolean removeExpired(byte[] row, Expiry expiry, TtlTimeProvider time) throws IOException {
    List<E> list = valueAt(row);
    if (list == null) {
      return false;
    }
    long now = time.currentTimestamp();
    List<E> left = new ArrayList<>(list.size());
    for (E element : list) {
      // A state with a time to live holds nothing else.
      if (!expiry.isExpired(((TtlValue<?>) element).getLastAccessTimestamp(), now)) {
        left.add(element);
      }
    }
    if (left.isEmpty()) {
      clearAt(row);
    } else if (left.size() < list.size()) {
      replaceAt(row, list, left);
    }
    return left.size() < list.size();
  }

  @Override
  byte[] queryable(byte[] stored) throws IOException {
    DataOutputSerializer joined = new DataOutputSerializer(stored.length);
    Lists.join(new ListOperands(), stored, stored.length, joined);
    return joined.getCopyOfBuffer();
  }

  @Override
  void migrate(Migration<List<E>> formats, DataInputDeserializer in, DataOutputSerializer out)
      throws IOException {
    byte[] stored = new byte[in.available()];
    in.readFully(stored);
    DataOutputSerializer joined = new DataOutputSerializer(stored.length);
    Lists.join(operands, stored, stored.length, joined);
    DataOutputSerializer migrated = new DataOutputSerializer(stored.length);
    formats.list(new DataInputDeserializer(joined.getSharedBuffer(), 0, joined.length()), migrated);
    Lists.writeOperand(out, access.bytes.nextSqn(), migrated);
  }
}
