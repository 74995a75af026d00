package io.alluvium.internal.state;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.spi.ListOperands;
import io.alluvium.state.ListState;
import java.util.ArrayList;
import java.util.List;

/** A list per row, see {@link ListOperands}. Confined to the task thread. */
final class ListView<E> extends StateView implements ListState<E> {

  private final Serializer<E> serializer;
  private final ListOperands operands = new ListOperands();

  ListView(StateAccess<?> access, String name, int id, Serializer<E> serializer) {
    super(access, name, id);
    this.serializer = serializer;
  }

  @Override
  public List<E> get() {
    List<E> elements = new ArrayList<>();
    ByteWriter value = access.clearValue();
    if (access.writePath.get(row(), value)) {
      operands.reset(value.array(), 0, value.length());
      while (operands.next()) {
        while (operands.hasElements()) {
          elements.add(decode(serializer, operands.reader()));
        }
      }
    }
    return elements;
  }

  @Override
  public void add(E element) {
    ByteWriter elements = access.clearScratch();
    encode(element, elements);
    append(elements);
  }

  @Override
  public void addAll(List<E> elements) {
    if (!elements.isEmpty()) {
      append(encodeAll(elements));
    }
  }

  @Override
  public void update(List<E> elements) {
    if (elements.isEmpty()) {
      clear();
    } else {
      access.writePath.put(row(), operand(encodeAll(elements)));
    }
  }

  private void append(ByteWriter elements) {
    access.writePath.merge(row(), operand(elements));
  }

  private ByteWriter operand(ByteWriter elements) {
    ByteWriter operand = access.clearValue();
    ListOperands.write(operand, access.writePath.nextSqn(), elements);
    return operand;
  }

  private ByteWriter encodeAll(List<E> elements) {
    ByteWriter out = access.clearScratch();
    for (E element : elements) {
      encode(element, out);
    }
    return out;
  }

  /** Elements follow each other without a count, so that each must take at least one byte. */
  private void encode(E element, ByteWriter out) {
    int before = out.length();
    serializer.write(element, out);
    if (out.length() == before) {
      throw StateBackendException.invalid(
          "serializer "
              + serializer.snapshot()
              + " of list state '"
              + name
              + "' wrote no byte for an element; elements of a list need at least one");
    }
  }
}
