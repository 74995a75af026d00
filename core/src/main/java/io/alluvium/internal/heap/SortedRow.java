package io.alluvium.internal.heap;

import java.util.Arrays;

/**
 * A row with user keys: that of a map state, or all timers of a key group. Entries are ordered by
 * user key and kept in blocks, so that an insertion into a huge row moves few of them. Confined to
 * the task thread; other threads may read pinned versions, see {@link Epochs}.
 */
final class SortedRow {

  /** Neighbouring blocks are merged if they have at most this many entries together. */
  private static final int MERGE_AT = Block.MAX / 2;

  /** Key and namespace: the row's part of each key. */
  final byte[] row;

  final int epoch;
  private Block[] blocks;
  private int count;

  private SortedRow(byte[] row, int epoch, Block[] blocks, int count) {
    this.row = row;
    this.epoch = epoch;
    this.blocks = blocks;
    this.count = count;
  }

  static SortedRow of(byte[] row, Epochs epochs, Object entry) {
    return new SortedRow(row, epochs.epoch(), new Block[] {Block.of(epochs.epoch(), entry)}, 1);
  }

  SortedRow copy(int newEpoch) {
    return new SortedRow(row, newEpoch, blocks.clone(), count);
  }

  int blockCount() {
    return count;
  }

  Block block(int index) {
    return blocks[index];
  }

  boolean isEmpty() {
    return count == 0;
  }

  /** The entry of a user key, or {@code null}. */
  @org.jspecify.annotations.Nullable
  Object get(byte[] key, int from, int to) {
    Block block = blocks[blockOf(key, from, to)];
    int index = block.find(key, from, to);
    return index < 0 ? null : block.get(index);
  }

  /** The block that holds a user key or would hold it; the row has at least one block. */
  private int blockOf(byte[] key, int from, int to) {
    int low = 1;
    int high = count - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      if (Entries.compareKey(blocks[middle].get(0), key, from, to) <= 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return low - 1;
  }

  void put(
      byte[] key, int from, int to, byte[] value, int valueOffset, int valueLength, Epochs epochs) {
    int at = blockOf(key, from, to);
    int index = blocks[at].find(key, from, to);
    if (index >= 0) {
      replace(
          at,
          index,
          Entries.withValue(
              blocks[at].get(index), value, valueOffset, valueLength, epochs.entrySharing()),
          epochs);
    } else {
      insert(at, -index - 1, Entries.of(key, from, to, value, valueOffset, valueLength), epochs);
    }
  }

  void merge(
      byte[] key,
      int from,
      int to,
      byte[] operand,
      int operandOffset,
      int operandLength,
      Epochs epochs) {
    int at = blockOf(key, from, to);
    int index = blocks[at].find(key, from, to);
    if (index >= 0) {
      replace(
          at,
          index,
          Entries.append(
              blocks[at].get(index), operand, operandOffset, operandLength, epochs.entrySharing()),
          epochs);
    } else {
      insert(
          at, -index - 1, Entries.of(key, from, to, operand, operandOffset, operandLength), epochs);
    }
  }

  private void replace(int at, int index, Object entry, Epochs epochs) {
    if (blocks[at].get(index) != entry) {
      writable(at, epochs).set(index, entry);
    }
  }

  private void insert(int at, int index, Object entry, Epochs epochs) {
    Block block = blocks[at];
    if (!block.isFull()) {
      writable(at, epochs).insert(index, entry);
    } else if (at == count - 1 && index == Block.MAX) {
      // Start a new block instead of a split: ascending keys, as of most timers, then fill blocks.
      insertBlock(count, Block.of(epochs.epoch(), entry));
    } else {
      block = writable(at, epochs);
      Block upper = block.split();
      insertBlock(at + 1, upper);
      if (index <= block.count()) {
        block.insert(index, entry);
      } else {
        upper.insert(index - block.count(), entry);
      }
    }
  }

  private void insertBlock(int at, Block block) {
    if (count == blocks.length) {
      blocks = Arrays.copyOf(blocks, count + (count >> 1) + 1);
    }
    System.arraycopy(blocks, at, blocks, at + 1, count - at);
    blocks[at] = block;
    count++;
  }

  /** Removes a user key; returns whether it was present. */
  boolean delete(byte[] key, int from, int to, Epochs epochs) {
    int at = blockOf(key, from, to);
    int index = blocks[at].find(key, from, to);
    if (index < 0) {
      return false;
    }
    Block block = writable(at, epochs);
    block.remove(index);
    if (block.count() == 0) {
      removeBlock(at);
    } else if (at + 1 < count && block.count() + blocks[at + 1].count() <= MERGE_AT) {
      block.append(blocks[at + 1]);
      removeBlock(at + 1);
    }
    return true;
  }

  @SuppressWarnings("NullAway") // slots at or above count are null
  private void removeBlock(int at) {
    count--;
    System.arraycopy(blocks, at + 1, blocks, at, count - at);
    blocks[count] = null;
  }

  private Block writable(int at, Epochs epochs) {
    Block block = blocks[at];
    if (epochs.mustCopy(block.epoch)) {
      block = block.copy(epochs.epoch());
      blocks[at] = block;
    }
    return block;
  }

  /** Removes every user key that starts with a prefix. */
  void deletePrefix(byte[] prefix, int from, int to, Epochs epochs) {
    while (count > 0) {
      int at = blockOf(prefix, from, to);
      int index = blocks[at].find(prefix, from, to);
      int first = index < 0 ? -index - 1 : index;
      if (first == blocks[at].count()) {
        if (++at == count) {
          return;
        }
        first = 0;
      }
      Object entry = blocks[at].get(first);
      if (!Entries.keyStartsWith(entry, prefix, from, to)) {
        return;
      }
      byte[] array = Entries.array(entry);
      boolean unused = delete(array, Entries.keyOffset(array), Entries.keyEnd(array), epochs);
    }
  }
}
