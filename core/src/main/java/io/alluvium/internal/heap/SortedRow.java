package io.alluvium.internal.heap;

import java.util.Arrays;

/**
 * A row with user keys: a map state's, or all timers of a key group. Entries are ordered by user
 * key, in blocks, so that an insertion into a huge row moves little. Confined to the task thread;
 * an old version may be read by others, see {@link Versions}.
 */
final class SortedRow {

  /** Neighbours that have no more than this together become one. */
  private static final int MERGE_AT = Block.MAX / 2;

  /** The row's part of the key. */
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

  static SortedRow of(byte[] row, Versions versions, Object entry) {
    return new SortedRow(row, versions.epoch(), new Block[] {Block.of(versions.epoch(), entry)}, 1);
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

  /** The entry of a user key, or null. */
  @org.jspecify.annotations.Nullable
  Object get(byte[] key, int from, int to) {
    Block block = blocks[blockOf(key, from, to)];
    int index = block.find(key, from, to);
    return index < 0 ? null : block.get(index);
  }

  /** The block that a user key is in or belongs to; the row has at least one. */
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
      byte[] key,
      int from,
      int to,
      byte[] value,
      int valueOffset,
      int valueLength,
      Versions versions) {
    int at = blockOf(key, from, to);
    int index = blocks[at].find(key, from, to);
    if (index >= 0) {
      replace(
          at,
          index,
          Entries.withValue(
              blocks[at].get(index), value, valueOffset, valueLength, versions.ofEntries()),
          versions);
    } else {
      insert(at, -index - 1, Entries.of(key, from, to, value, valueOffset, valueLength), versions);
    }
  }

  void merge(
      byte[] key,
      int from,
      int to,
      byte[] operand,
      int operandOffset,
      int operandLength,
      Versions versions) {
    int at = blockOf(key, from, to);
    int index = blocks[at].find(key, from, to);
    if (index >= 0) {
      replace(
          at,
          index,
          Entries.append(
              blocks[at].get(index), operand, operandOffset, operandLength, versions.ofEntries()),
          versions);
    } else {
      insert(
          at,
          -index - 1,
          Entries.of(key, from, to, operand, operandOffset, operandLength),
          versions);
    }
  }

  private void replace(int at, int index, Object entry, Versions versions) {
    if (blocks[at].get(index) != entry) {
      writable(at, versions).set(index, entry);
    }
  }

  private void insert(int at, int index, Object entry, Versions versions) {
    Block block = blocks[at];
    if (!block.isFull()) {
      writable(at, versions).insert(index, entry);
    } else if (at == count - 1 && index == Block.MAX) {
      // Ascending keys, as timers mostly are, fill their blocks.
      insertBlock(count, Block.of(versions.epoch(), entry));
    } else {
      block = writable(at, versions);
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

  /** Removes a user key; whether it was there. */
  boolean delete(byte[] key, int from, int to, Versions versions) {
    int at = blockOf(key, from, to);
    int index = blocks[at].find(key, from, to);
    if (index < 0) {
      return false;
    }
    Block block = writable(at, versions);
    block.remove(index);
    if (block.count() == 0) {
      removeBlock(at);
    } else if (at + 1 < count && block.count() + blocks[at + 1].count() <= MERGE_AT) {
      block.append(blocks[at + 1]);
      removeBlock(at + 1);
    }
    return true;
  }

  @SuppressWarnings("NullAway") // behind the last block there is nothing
  private void removeBlock(int at) {
    count--;
    System.arraycopy(blocks, at + 1, blocks, at, count - at);
    blocks[count] = null;
  }

  private Block writable(int at, Versions versions) {
    Block block = blocks[at];
    if (versions.isVisible(block.epoch)) {
      block = block.copy(versions.epoch());
      blocks[at] = block;
    }
    return block;
  }

  /** Removes every user key that starts with a prefix. */
  void deletePrefix(byte[] prefix, int from, int to, Versions versions) {
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
      boolean unused = delete(array, Entries.keyOffset(array), Entries.keyEnd(array), versions);
    }
  }
}
