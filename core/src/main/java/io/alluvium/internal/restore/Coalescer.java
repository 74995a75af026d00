package io.alluvium.internal.restore;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.ChangeCursor;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Operation;
import io.alluvium.spi.SortedChanges;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntToLongFunction;

/**
 * Makes of many changes the few that have the same effect (R2): at most one for each key, sorted,
 * after the range deletions. Confined to one thread; used for one batch after the other, and
 * allocates nothing for a change.
 */
final class Coalescer {

  /*
   * One key group at a time, ascending, so that all that is probed and sorted at once stays in the processor's cache.
   *
   * A key has one node at the head of a chain. PUT and DELETE replace the head and drop the chain; MERGE appends to it,
   * except after DELETE, which it turns into a PUT. Operands are joined byte by byte, because each carries its own
   * tag; one tag for the joined operand would lose or repeat elements (traces 12 and 13).
   *
   * DELETE_RANGE is a barrier: what it covers and came before is dropped, and nothing is joined across it. It is noted
   * and looked at when the key group is complete: every node of a chain knows its sequence number, so that the part of
   * a chain that lies before the newest barrier over its key can still be cut off then. All barriers are emitted before
   * all entries. That is right because whatever they cover in the table is older than they are, and every entry left
   * that they cover is newer. Such an entry meets no earlier value: its MERGE is a PUT, its DELETE nothing.
   *
   * Keys and values are not copied: they stay in the blocks, which the batch holds anyway. Only values joined of
   * several operands are put together when they are emitted.
   */
  private final ChangeNodes nodes = new ChangeNodes();
  private final KeyIndex index = new KeyIndex();
  private final KeySorter sorter = new KeySorter();
  private final RangeDeletes barriers = new RangeDeletes();
  private final List<byte[]> rangeDeletes = new ArrayList<>();
  private int[] order = new int[256];
  private int entries;
  private long sizeBytes;
  private long changes;
  private long lastSqn;

  /**
   * Coalesces the changes of some key groups.
   *
   * @param blocks in order; must stay as they are until the result was used
   * @param position for each key group, the sequence number that its changes are needed from
   * @return valid until the next call
   */
  SortedChanges coalesce(
      List<FetchedBlock> blocks, KeyGroupRange keyGroups, IntToLongFunction position) {
    clear();
    for (int keyGroup = keyGroups.from(); keyGroup < keyGroups.to(); keyGroup++) {
      long from = position.applyAsLong(keyGroup);
      int start = entries;
      lastSqn = -1;
      for (int i = 0; i < blocks.size(); i++) {
        FetchedBlock block = blocks.get(i);
        if (block.keyGroups().contains(keyGroup)) {
          add(block.block().changes(keyGroup), keyGroup, from);
        }
      }
      if (entries > start || !barriers.isEmpty()) {
        finishKeyGroup(start);
      }
    }
    return new Result();
  }

  /** How many changes the last result was made from. */
  long changes() {
    return changes;
  }

  /** Lets go of the blocks of the last batch. */
  void clear() {
    nodes.clear();
    rangeDeletes.clear();
    entries = 0;
    sizeBytes = 0;
    changes = 0;
  }

  private void add(ChangeCursor change, int keyGroup, long from) {
    while (change.next()) {
      long sqn = change.sqn();
      if (sqn <= lastSqn) {
        throw StateBackendException.corrupt(
            "the changelog of key group "
                + keyGroup
                + " is out of order: expected a sequence number above "
                + lastSqn
                + ", found "
                + sqn);
      }
      lastSqn = sqn;
      if (sqn >= from) {
        changes++;
        add(change);
      }
    }
  }

  private void add(ChangeCursor change) {
    int node = nodes.add(change);
    if (nodes.is(Operation.DELETE_RANGE, node)) {
      barriers.add(node);
      return;
    }
    int head = index.findOrAdd(nodes, node);
    if (head == node) {
      addEntry(node);
    } else if (!nodes.is(Operation.MERGE, node)) {
      nodes.removeLast();
      nodes.set(head, change);
    } else if (nodes.is(Operation.DELETE, head)) {
      nodes.removeLast();
      nodes.set(head, change);
      nodes.setOperation(head, Operation.PUT);
    } else {
      nodes.appendOperand(head, node);
    }
  }

  private void addEntry(int node) {
    if (entries == order.length) {
      order = Arrays.copyOf(order, 2 * entries);
    }
    order[entries++] = node;
  }

  private void finishKeyGroup(int start) {
    sorter.sort(nodes, order, start, entries, KeyLayout.KEY_GROUP_BYTES);
    if (!barriers.isEmpty()) {
      dropCovered(start);
      barriers.addOutermost(nodes, rangeDeletes);
      barriers.clear();
    }
    index.clear();
    for (int i = start; i < entries; i++) {
      sizeBytes += sizeBytes(order[i]);
    }
  }

  private void dropCovered(int start) {
    barriers.sort(nodes, sorter);
    int kept = start;
    for (int i = start; i < entries; i++) {
      int head = order[i];
      long barrier = barriers.newestOver(nodes, head);
      if (barrier != RangeDeletes.NONE) {
        head = newerThan(barrier, head);
      }
      if (head >= 0) {
        order[kept++] = head;
      }
    }
    entries = kept;
  }

  /** What is left of an entry that a barrier covers, or -1. */
  private int newerThan(long barrier, int head) {
    int rest = head;
    if (nodes.sqn(head) < barrier) {
      if (!nodes.hasOperands(head)) {
        return -1;
      }
      int operand = nodes.firstOperand(head);
      int last = nodes.lastOperand(head);
      while (operand != last && nodes.sqn(operand) < barrier) {
        operand = nodes.nextOperand(operand);
      }
      if (nodes.sqn(operand) < barrier) {
        return -1;
      }
      nodes.behead(head, operand);
      rest = operand;
    }
    if (nodes.is(Operation.DELETE, rest)) {
      return -1;
    }
    nodes.setOperation(rest, Operation.PUT);
    return rest;
  }

  private long sizeBytes(int head) {
    long size = (long) nodes.keyLength(head) + nodes.valueLength(head);
    if (nodes.hasOperands(head)) {
      int last = nodes.lastOperand(head);
      int operand = nodes.firstOperand(head);
      size += nodes.valueLength(operand);
      while (operand != last) {
        operand = nodes.nextOperand(operand);
        size += nodes.valueLength(operand);
      }
    }
    return size;
  }

  /** Walks the entries in order. */
  private final class Result implements SortedChanges {

    private final List<byte[]> prefixes = List.copyOf(rangeDeletes);
    private final ByteWriter joined = new ByteWriter();
    private int next;
    private int head;
    private boolean isJoined;

    @Override
    public List<byte[]> rangeDeletes() {
      return prefixes;
    }

    @Override
    public int entries() {
      return entries;
    }

    @Override
    public long sizeBytes() {
      return sizeBytes;
    }

    @Override
    public boolean next() {
      if (next == entries) {
        return false;
      }
      head = order[next++];
      isJoined = nodes.hasOperands(head);
      if (isJoined) {
        join();
      }
      return true;
    }

    private void join() {
      joined.clear();
      joinValue(head);
      int last = nodes.lastOperand(head);
      int operand = nodes.firstOperand(head);
      joinValue(operand);
      while (operand != last) {
        operand = nodes.nextOperand(operand);
        joinValue(operand);
      }
    }

    private void joinValue(int node) {
      joined.writeBytes(nodes.array(node), nodes.valueOffset(node), nodes.valueLength(node));
    }

    @Override
    public Operation operation() {
      return nodes.operation(head);
    }

    @Override
    public byte[] keyArray() {
      return nodes.array(head);
    }

    @Override
    public int keyOffset() {
      return nodes.keyOffset(head);
    }

    @Override
    public int keyLength() {
      return nodes.keyLength(head);
    }

    @Override
    public byte[] valueArray() {
      return isJoined ? joined.array() : nodes.array(head);
    }

    @Override
    public int valueOffset() {
      return isJoined ? 0 : nodes.valueOffset(head);
    }

    @Override
    public int valueLength() {
      return isJoined ? joined.length() : nodes.valueLength(head);
    }
  }
}
