package io.alluvium.internal.state;

import io.alluvium.StateBackendException;
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.spi.ListOperands;
import io.alluvium.state.ListState;
import java.util.ArrayList;
import java.util.List;

/** A list per row, see {@link ListOperands}. Confined to the task thread. */
final class ListView<E> extends StateView implements ListState<E> {

  private final Codec<E> elements;
  private final ListOperands operands = new ListOperands();

  ListView(StateAccess<?> access, String name, int id, Serializer<E> serializer) {
    super(access, name, id);
    this.elements = Codec.ofValues(serializer, "an element of state '" + name + "'");
  }

  @Override
  public List<E> get() {
    enter("get");
    List<E> list = new ArrayList<>();
    ByteWriter value = access.clearValue();
    if (access.writePath.get(row(), value)) {
      operands.reset(value.array(), 0, value.length());
      while (operands.next()) {
        while (hasElements()) {
          list.add(elements.read(operands.reader()));
        }
      }
    }
    return list;
  }

  private boolean hasElements() {
    try {
      return operands.hasElements();
    } catch (StateBackendException e) {
      throw elements.readTooMuch(e);
    }
  }

  @Override
  public void add(E element) {
    enter("add");
    ByteWriter bytes = access.clearScratch();
    encode(element, bytes);
    append(bytes);
  }

  @Override
  public void addAll(List<E> list) {
    enter("addAll");
    if (!Arguments.notNull(list, "elements").isEmpty()) {
      append(encodeAll(list));
    }
  }

  @Override
  public void update(List<E> list) {
    enter("update");
    if (Arguments.notNull(list, "elements").isEmpty()) {
      clear();
    } else {
      access.writePath.put(row(), operand(encodeAll(list)));
    }
  }

  private void append(ByteWriter bytes) {
    access.writePath.merge(row(), operand(bytes));
  }

  private ByteWriter operand(ByteWriter bytes) {
    ByteWriter operand = access.clearValue();
    ListOperands.write(operand, access.writePath.nextSqn(), bytes);
    return operand;
  }

  private ByteWriter encodeAll(List<E> list) {
    ByteWriter out = access.clearScratch();
    for (E element : list) {
      encode(element, out);
    }
    return out;
  }

  /** Elements follow each other without a count, so that each must take at least one byte. */
  private void encode(E element, ByteWriter out) {
    int before = out.length();
    elements.write(element, out);
    if (out.length() == before) {
      throw StateBackendException.invalid(
          "serializer "
              + elements.serializer().snapshot()
              + " of list state '"
              + name
              + "' wrote no byte for an element; elements of a list need at least one");
    }
  }
}
