package io.alluvium.internal.heap;

import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One state in one key group: its rows by hash. Written by one thread, the task's (at a restore,
 * whoever fills the key group); an older state may be read by others while it is pinned.
 */
final class Cell {

  /*
   * Open addressing with linear probing over the hash of the row (key and namespace). A slot holds an entry (a row of a
   * single value, which is most rows of most states) or a SortedRow. Hashes stand beside the slots, 0 = free, so that
   * probing and growing look at no key that does not match. Deletion moves later entries of the same run back, so that
   * there are no tombstones. Memory for a row of a 16-byte key and a 16-byte value is about 70 bytes.
   */
  private static final int FIRST_CAPACITY = 8;

  final int keyGroup;
  final int stateId;

  /** What each key of the cell starts with: key group and state id. */
  final byte[] prefix;

  final Versions versions = new Versions();
  private @Nullable Object[] slots = new @Nullable Object[FIRST_CAPACITY];
  private int[] hashes = new int[FIRST_CAPACITY];
  private int rows;

  /** Whether a pin reads {@link #slots} itself. */
  private boolean slotsPinned;

  Cell(int keyGroup, int stateId) {
    this.keyGroup = keyGroup;
    this.stateId = stateId;
    ByteWriter bytes = new ByteWriter();
    KeyLayout.writeState(bytes, keyGroup, stateId);
    this.prefix = bytes.toByteArray();
  }

  int rows() {
    return rows;
  }

  /** A key taken apart; reused for one after the other. */
  static final class Place {
    byte[] array = new byte[0];
    int rowFrom;
    int rowTo;
    int keyTo;

    boolean hasUserKey() {
      return rowTo < keyTo;
    }
  }

  boolean get(Place at, ByteWriter into) {
    int index = find(hash(at), at);
    if (index < 0) {
      return false;
    }
    Object entry = slot(index);
    if (entry instanceof SortedRow row) {
      entry = row.get(at.array, at.rowTo, at.keyTo);
    } else if (at.hasUserKey()) {
      return false;
    }
    if (entry == null) {
      return false;
    }
    Entries.copyValue(entry, into);
    return true;
  }

  void put(Place at, byte[] value, int valueOffset, int valueLength) {
    int hash = hash(at);
    int index = find(hash, at);
    if (index < 0) {
      insert(hash, first(at, value, valueOffset, valueLength));
      return;
    }
    Object content = slot(index);
    if (content instanceof SortedRow || at.hasUserKey()) {
      sortedRow(index, at)
          .put(at.array, at.rowTo, at.keyTo, value, valueOffset, valueLength, versions);
    } else {
      set(index, Entries.withValue(content, value, valueOffset, valueLength, versions.ofEntries()));
    }
  }

  void merge(Place at, byte[] operand, int operandOffset, int operandLength) {
    int hash = hash(at);
    int index = find(hash, at);
    if (index < 0) {
      insert(hash, first(at, operand, operandOffset, operandLength));
      return;
    }
    Object content = slot(index);
    if (content instanceof SortedRow || at.hasUserKey()) {
      sortedRow(index, at)
          .merge(at.array, at.rowTo, at.keyTo, operand, operandOffset, operandLength, versions);
    } else {
      set(
          index,
          Entries.append(content, operand, operandOffset, operandLength, versions.ofEntries()));
    }
  }

  /** What a row holds after its first write. */
  private Object first(Place at, byte[] value, int valueOffset, int valueLength) {
    if (!at.hasUserKey()) {
      return Entries.of(at.array, at.rowFrom, at.rowTo, value, valueOffset, valueLength);
    }
    return SortedRow.of(
        Arrays.copyOfRange(at.array, at.rowFrom, at.rowTo),
        versions,
        Entries.of(at.array, at.rowTo, at.keyTo, value, valueOffset, valueLength));
  }

  void delete(Place at) {
    int index = find(hash(at), at);
    if (index < 0) {
      return;
    }
    if (!(slot(index) instanceof SortedRow)) {
      if (!at.hasUserKey()) {
        remove(index);
      }
      return;
    }
    SortedRow row = sortedRow(index, at);
    boolean unused = row.delete(at.array, at.rowTo, at.keyTo, versions);
    if (row.isEmpty()) {
      remove(index);
    }
  }

  /** Removes of one row the keys that start with what {@code at} says. */
  void deleteRow(Place at) {
    int index = find(hash(at), at);
    if (index < 0) {
      return;
    }
    if (!at.hasUserKey()) {
      remove(index);
    } else if (slot(index) instanceof SortedRow) {
      SortedRow row = sortedRow(index, at);
      row.deletePrefix(at.array, at.rowTo, at.keyTo, versions);
      if (row.isEmpty()) {
        remove(index);
      }
    }
  }

  /** Removes the rows that start with a part of a row. */
  void deleteRows(byte[] array, int from, int to) {
    Place at = new Place();
    for (@Nullable Object content : slots.clone()) {
      if (content != null && rowStartsWith(content, array, from, to)) {
        byte[] row = rowArray(content);
        at.array = row;
        at.rowFrom = rowOffset(content);
        at.rowTo = rowEnd(content);
        at.keyTo = at.rowTo;
        deleteRow(at);
      }
    }
  }

  void clear() {
    slots = new @Nullable Object[FIRST_CAPACITY];
    hashes = new int[FIRST_CAPACITY];
    rows = 0;
    slotsPinned = false;
  }

  // What a slot's content is called by.

  static byte[] rowArray(Object content) {
    return content instanceof SortedRow row ? row.row : Entries.array(content);
  }

  static int rowOffset(Object content) {
    return content instanceof SortedRow ? 0 : Entries.keyOffset(Entries.array(content));
  }

  static int rowEnd(Object content) {
    return content instanceof SortedRow row
        ? row.row.length
        : Entries.keyEnd(Entries.array(content));
  }

  static boolean rowStartsWith(Object content, byte[] array, int from, int to) {
    int at = rowOffset(content);
    int length = to - from;
    return rowEnd(content) - at >= length
        && Arrays.equals(rowArray(content), at, at + length, array, from, to);
  }

  // Reading over a longer time.

  /** All contents as they are now, {@code null} in between; {@link #unpin} must follow. */
  @Nullable Object[] pinAll() {
    versions.pin();
    slotsPinned = true;
    return slots;
  }

  /** The content of one row as it is now, or {@code null}; {@link #unpin} must follow. */
  @Nullable Object pinRow(Place at) {
    versions.pin();
    int index = find(hash(at), at);
    return index < 0 ? null : slots[index];
  }

  void unpin() {
    versions.release();
  }

  // The hash table.

  private Object slot(int index) {
    Object content = slots[index];
    if (content == null) {
      throw new IllegalStateException("slot " + index + " is free");
    }
    return content;
  }

  private void set(int index, Object content) {
    if (slots[index] != content) {
      writableSlots()[index] = content;
    }
  }

  private @Nullable Object[] writableSlots() {
    if (slotsPinned) {
      if (versions.isPinned()) {
        slots = slots.clone();
      }
      slotsPinned = false;
    }
    return slots;
  }

  /** The row as one that may be changed, turned into a sorted one if it is not. */
  private SortedRow sortedRow(int index, Place at) {
    Object content = slot(index);
    if (!(content instanceof SortedRow row)) {
      SortedRow made =
          SortedRow.of(
              Arrays.copyOfRange(at.array, at.rowFrom, at.rowTo),
              versions,
              Entries.rekeyed(content, at.array, at.rowTo, at.rowTo));
      set(index, made);
      return made;
    }
    if (versions.isVisible(row.epoch)) {
      SortedRow copy = row.copy(versions.epoch());
      set(index, copy);
      return copy;
    }
    return row;
  }

  /** The index of a row, or a negative number. */
  private int find(int hash, Place at) {
    int mask = hashes.length - 1;
    int index = hash & mask;
    for (int other = hashes[index]; other != 0; other = hashes[index]) {
      if (other == hash && isRow(slot(index), at)) {
        return index;
      }
      index = (index + 1) & mask;
    }
    return -1;
  }

  private static boolean isRow(Object content, Place at) {
    if (content instanceof SortedRow row) {
      return Arrays.equals(row.row, 0, row.row.length, at.array, at.rowFrom, at.rowTo);
    }
    return Entries.hasKey(content, at.array, at.rowFrom, at.rowTo);
  }

  private void insert(int hash, Object content) {
    if (rows >= hashes.length / 4 * 3) {
      rehash(2 * hashes.length);
    }
    place(writableSlots(), hash, content);
    rows++;
  }

  private void place(@Nullable Object[] into, int hash, Object content) {
    int mask = hashes.length - 1;
    int index = hash & mask;
    while (hashes[index] != 0) {
      index = (index + 1) & mask;
    }
    hashes[index] = hash;
    into[index] = content;
  }

  private void rehash(int capacity) {
    @Nullable Object[] oldSlots = slots;
    int[] oldHashes = hashes;
    slots = new @Nullable Object[capacity];
    slotsPinned = false;
    hashes = new int[capacity];
    for (int i = 0; i < oldHashes.length; i++) {
      Object content = oldSlots[i];
      if (content != null) {
        place(slots, oldHashes[i], content);
      }
    }
  }

  private void remove(int index) {
    @Nullable Object[] into = writableSlots();
    int mask = hashes.length - 1;
    int free = index;
    for (int next = (free + 1) & mask; hashes[next] != 0; next = (next + 1) & mask) {
      int home = hashes[next] & mask;
      // May move back unless its home lies behind the free slot, cyclically.
      if (((next - home) & mask) >= ((next - free) & mask)) {
        hashes[free] = hashes[next];
        into[free] = into[next];
        free = next;
      }
    }
    hashes[free] = 0;
    into[free] = null;
    rows--;
    if (hashes.length > 8 * FIRST_CAPACITY && rows < hashes.length / 8) {
      rehash(hashes.length / 4);
    }
  }

  private static int hash(Place at) {
    return RowHash.of(at.array, at.rowFrom, at.rowTo);
  }
}
