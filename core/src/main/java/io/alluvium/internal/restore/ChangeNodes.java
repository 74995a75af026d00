package io.alluvium.internal.restore;

import io.alluvium.StateBackendException;
import io.alluvium.spi.ChangeCursor;
import io.alluvium.spi.Operation;
import java.util.Arrays;

/**
 * Changes as records of four longs in one array; keys and values stay where the fetched blocks hold
 * them. Confined to one thread.
 *
 * <pre>
 *   word 0   array (index into the arrays seen) : 32 | key offset : 32
 *   word 1   key length : 32                         | value offset : 32
 *   word 2   value length : 32                       | link (a node + 1, or 0) : 32
 *   word 3   sequence number : 61                    | operation code : 3
 * </pre>
 *
 * <p>A node may head a chain of further operands, kept as a ring so that both ends are at hand: the
 * head links to the last operand, each operand to the next, the last one to the first.
 */
final class ChangeNodes {

  private static final int STRIDE_SHIFT = 2;
  private static final int MAX_NODES = 1 << 28;
  private static final int OPERATION_BITS = 3;
  private static final int OPERATION_MASK = (1 << OPERATION_BITS) - 1;
  private static final long LOW = 0xffff_ffffL;

  private long[] words = new long[1 << 12];
  private int count;
  private byte[][] arrays = new byte[16][];
  private int arrayCount;

  /** Forgets all nodes and lets go of the blocks that they pointed into. */
  void clear() {
    count = 0;
    Arrays.fill(arrays, 0, arrayCount, null);
    arrayCount = 0;
  }

  int count() {
    return count;
  }

  /** Adds the change under the cursor; returns its node. */
  int add(ChangeCursor change) {
    int node = count;
    int at = node << STRIDE_SHIFT;
    if (at == words.length) {
      grow();
    }
    count++;
    set(node, change);
    return node;
  }

  private void grow() {
    if (count >= MAX_NODES) {
      throw StateBackendException.internal(
          "a batch of changes to replay must hold fewer than " + MAX_NODES);
    }
    words = Arrays.copyOf(words, 2 * words.length);
  }

  /** Takes back the node added last. */
  void removeLast() {
    count--;
  }

  /** Makes {@code node} the change under the cursor and nothing else. */
  void set(int node, ChangeCursor change) {
    int at = node << STRIDE_SHIFT;
    words[at] = (long) arrayIndex(change.array()) << 32 | change.keyOffset();
    words[at + 1] = (long) change.keyLength() << 32 | change.valueOffset();
    words[at + 2] = (long) change.valueLength() << 32;
    words[at + 3] = change.sqn() << OPERATION_BITS | change.operation().code();
  }

  /** A cursor stays in one array for long, so that the newest is nearly always the one. */
  private int arrayIndex(byte[] array) {
    if (arrayCount == 0 || arrays[arrayCount - 1] != array) {
      if (arrayCount == arrays.length) {
        arrays = Arrays.copyOf(arrays, 2 * arrayCount);
      }
      arrays[arrayCount++] = array;
    }
    return arrayCount - 1;
  }

  /** Where key and value are. */
  byte[] array(int node) {
    return arrays[(int) (words[node << STRIDE_SHIFT] >>> 32)];
  }

  int keyOffset(int node) {
    return (int) words[node << STRIDE_SHIFT];
  }

  int keyLength(int node) {
    return (int) (words[(node << STRIDE_SHIFT) + 1] >>> 32);
  }

  int valueOffset(int node) {
    return (int) words[(node << STRIDE_SHIFT) + 1];
  }

  int valueLength(int node) {
    return (int) (words[(node << STRIDE_SHIFT) + 2] >>> 32);
  }

  long sqn(int node) {
    return words[(node << STRIDE_SHIFT) + 3] >>> OPERATION_BITS;
  }

  boolean is(Operation operation, int node) {
    return (words[(node << STRIDE_SHIFT) + 3] & OPERATION_MASK) == operation.code();
  }

  Operation operation(int node) {
    return Operation.ofCode((int) words[(node << STRIDE_SHIFT) + 3] & OPERATION_MASK);
  }

  void setOperation(int node, Operation operation) {
    int at = (node << STRIDE_SHIFT) + 3;
    words[at] = (words[at] & ~OPERATION_MASK) | operation.code();
  }

  boolean hasOperands(int head) {
    return link(head) != 0;
  }

  /** The first operand after the head, which has some. */
  int firstOperand(int head) {
    return link(lastOperand(head)) - 1;
  }

  int lastOperand(int head) {
    return link(head) - 1;
  }

  /** The operand after {@code operand}; after the last one comes the first again. */
  int nextOperand(int operand) {
    return link(operand) - 1;
  }

  /** Appends {@code operand}, which heads nothing, to the chain of {@code head}. */
  void appendOperand(int head, int operand) {
    if (hasOperands(head)) {
      int last = lastOperand(head);
      setLink(operand, link(last));
      setLink(last, operand + 1);
    } else {
      setLink(operand, operand + 1);
    }
    setLink(head, operand + 1);
  }

  /** Takes the head and the operands before {@code operand} away: it heads the rest from now on. */
  void behead(int head, int operand) {
    int last = lastOperand(head);
    if (operand == last) {
      setLink(operand, 0);
      return;
    }
    int first = nextOperand(operand);
    setLink(last, first + 1);
    setLink(operand, last + 1);
  }

  private int link(int node) {
    return (int) words[(node << STRIDE_SHIFT) + 2];
  }

  private void setLink(int node, int link) {
    int at = (node << STRIDE_SHIFT) + 2;
    words[at] = (words[at] & ~LOW) | link;
  }
}
