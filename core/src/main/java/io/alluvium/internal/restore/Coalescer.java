package io.alluvium.internal.restore;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
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
   * tag; one tag for the joined operand would lose or repeat elements (T13).
   *
   * DELETE_RANGE is a barrier: what it covers and came before is dropped, and nothing is joined across it. It is noted
   * and looked at when the key group is complete: every node of a chain knows its sequence number, so that the part of
   * a chain that lies before the newest barrier over its key can still be cut off then. All barriers are emitted before
   * all entries. That is right because whatever they cover in the table is older than they are, and every entry left
   * that they cover is newer. Such an entry meets no earlier value: its MERGE is a PUT, its DELETE nothing.
   *
   * Until then keys and values are not copied, they stay in the blocks. The entries of a finished key group are.
   */
  private final ChangeNodes nodes = new ChangeNodes();
  private final KeyIndex index = new KeyIndex();
  private final KeySorter sorter = new KeySorter();
  private final RangeDeletes barriers = new RangeDeletes();
  private final List<byte[]> rangeDeletes = new ArrayList<>();
  private final EntryArena arena = new EntryArena();
  private int[] order = new int[256];
  private int heads;
  private long changes;
  private long lastSqn;

  /**
   * Coalesces the changes of some key groups.
   *
   * @param blocks in order; not needed any more when this returns
   * @param position for each key group, the sequence number that its changes are needed from
   * @return valid until the next call
   */
  SortedChanges coalesce(
      List<FetchedBlock> blocks, KeyGroupRange keyGroups, IntToLongFunction position) {
    clear();
    for (int keyGroup = keyGroups.from(); keyGroup < keyGroups.to(); keyGroup++) {
      long from = position.applyAsLong(keyGroup);
      lastSqn = -1;
      for (int i = 0; i < blocks.size(); i++) {
        FetchedBlock block = blocks.get(i);
        if (block.keyGroups().contains(keyGroup)) {
          add(block.block().changes(keyGroup), keyGroup, from);
        }
      }
      if (nodes.count() > 0) {
        finishKeyGroup();
      }
    }
    return arena.walk(rangeDeletes);
  }

  /** How many changes the last result was made from. */
  long changes() {
    return changes;
  }

  /** Lets go of the blocks of the last batch. */
  void clear() {
    nodes.clear();
    index.clear();
    barriers.clear();
    arena.clear();
    rangeDeletes.clear();
    heads = 0;
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
      addHead(node);
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

  private void addHead(int node) {
    if (heads == order.length) {
      order = Arrays.copyOf(order, 2 * heads);
    }
    order[heads++] = node;
  }

  private void finishKeyGroup() {
    sorter.sort(nodes, order, 0, heads, KeyLayout.KEY_GROUP_BYTES);
    if (barriers.isEmpty()) {
      for (int i = 0; i < heads; i++) {
        arena.add(nodes, order[i]);
      }
    } else {
      addUncovered();
    }
    nodes.clear();
    index.clear();
    heads = 0;
  }

  private void addUncovered() {
    barriers.sort(nodes, sorter);
    for (int i = 0; i < heads; i++) {
      int head = order[i];
      long barrier = barriers.newestOver(nodes, head);
      if (barrier != RangeDeletes.NONE) {
        head = newerThan(barrier, head);
      }
      if (head >= 0) {
        arena.add(nodes, head);
      }
    }
    barriers.addOutermost(nodes, rangeDeletes);
    barriers.clear();
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
}
