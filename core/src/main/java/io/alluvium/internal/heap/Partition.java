package io.alluvium.internal.heap;

import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One state in one key group: a hash table of its rows. Written only by the task thread, at a
 * restore by the thread that fills the key group. Other threads may read the content of a pin.
 */
final class Partition {

  /*
   * Open addressing with linear probing over the hash of the row (key and namespace). A slot holds an entry (a row of a
   * single value, the most frequent case) or a SortedRow. Hashes are kept in an array of their own, 0 = free, so that
   * probing and rehashing read no keys that do not match. Deletion moves later entries of the same run back, so that
   * there are no tombstones. A row of a 16-byte key and a 16-byte value takes about 70 bytes.
   */
  private static final int FIRST_CAPACITY = 8;

  final int keyGroup;
  final int stateId;

  /** The prefix of every key of this partition: key group and state id. */
  final byte[] prefix;

  final Epochs epochs = new Epochs();
  private @Nullable Object[] slots = new @Nullable Object[FIRST_CAPACITY];
  private int[] hashes = new int[FIRST_CAPACITY];
  private int rows;

  /** Whether a pin refers to the array {@link #slots}. */
  private boolean slotsPinned;

  Partition(int keyGroup, int stateId) {
    this.keyGroup = keyGroup;
    this.stateId = stateId;
    ByteWriter bytes = new ByteWriter();
    KeyLayout.writeState(bytes, keyGroup, stateId);
    this.prefix = bytes.toByteArray();
  }

  int rows() {
    return rows;
  }

  /** A parsed key: a view of its array. Reused for many keys; confined to one thread. */
  static final class KeyView {
    byte[] array = new byte[0];
    int rowFrom;
    int rowTo;
    int keyTo;

    boolean hasUserKey() {
      return rowTo < keyTo;
    }
  }

  boolean get(KeyView view, ByteWriter into) {
    int index = find(hash(view), view);
    if (index < 0) {
      return false;
    }
    Object entry = slot(index);
    if (entry instanceof SortedRow row) {
      entry = row.get(view.array, view.rowTo, view.keyTo);
    } else if (view.hasUserKey()) {
      return false;
    }
    if (entry == null) {
      return false;
    }
    Entries.copyValue(entry, into);
    return true;
  }

  void put(KeyView view, byte[] value, int valueOffset, int valueLength) {
    int hash = hash(view);
    int index = find(hash, view);
    if (index < 0) {
      insert(hash, first(view, value, valueOffset, valueLength));
      return;
    }
    Object content = slot(index);
    if (content instanceof SortedRow || view.hasUserKey()) {
      sortedRow(index, view)
          .put(view.array, view.rowTo, view.keyTo, value, valueOffset, valueLength, epochs);
    } else {
      set(
          index,
          Entries.withValue(content, value, valueOffset, valueLength, epochs.entrySharing()));
    }
  }

  void merge(KeyView view, byte[] operand, int operandOffset, int operandLength) {
    int hash = hash(view);
    int index = find(hash, view);
    if (index < 0) {
      insert(hash, first(view, operand, operandOffset, operandLength));
      return;
    }
    Object content = slot(index);
    if (content instanceof SortedRow || view.hasUserKey()) {
      sortedRow(index, view)
          .merge(view.array, view.rowTo, view.keyTo, operand, operandOffset, operandLength, epochs);
    } else {
      set(
          index,
          Entries.append(content, operand, operandOffset, operandLength, epochs.entrySharing()));
    }
  }

  /** The content of a row after its first write. */
  private Object first(KeyView view, byte[] value, int valueOffset, int valueLength) {
    if (!view.hasUserKey()) {
      return Entries.of(view.array, view.rowFrom, view.rowTo, value, valueOffset, valueLength);
    }
    return SortedRow.of(
        Arrays.copyOfRange(view.array, view.rowFrom, view.rowTo),
        epochs,
        Entries.of(view.array, view.rowTo, view.keyTo, value, valueOffset, valueLength));
  }

  void delete(KeyView view) {
    int index = find(hash(view), view);
    if (index < 0) {
      return;
    }
    if (!(slot(index) instanceof SortedRow)) {
      if (!view.hasUserKey()) {
        remove(index);
      }
      return;
    }
    SortedRow row = sortedRow(index, view);
    boolean unused = row.delete(view.array, view.rowTo, view.keyTo, epochs);
    if (row.isEmpty()) {
      remove(index);
    }
  }

  /** Removes a row, or those of its entries whose user key starts with that of {@code view}. */
  void deleteRow(KeyView view) {
    int index = find(hash(view), view);
    if (index < 0) {
      return;
    }
    if (!view.hasUserKey()) {
      remove(index);
    } else if (slot(index) instanceof SortedRow) {
      SortedRow row = sortedRow(index, view);
      row.deletePrefix(view.array, view.rowTo, view.keyTo, epochs);
      if (row.isEmpty()) {
        remove(index);
      }
    }
  }

  /** Removes the rows that start with a prefix. */
  void deleteRows(byte[] array, int from, int to) {
    KeyView view = new KeyView();
    for (@Nullable Object content : slots.clone()) {
      if (content != null && rowStartsWith(content, array, from, to)) {
        byte[] row = rowArray(content);
        view.array = row;
        view.rowFrom = rowOffset(content);
        view.rowTo = rowEnd(content);
        view.keyTo = view.rowTo;
        deleteRow(view);
      }
    }
  }

  void clear() {
    slots = new @Nullable Object[FIRST_CAPACITY];
    hashes = new int[FIRST_CAPACITY];
    rows = 0;
    slotsPinned = false;
  }

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

  /**
   * Pins the contents of all slots, {@code null} for free ones. Must be followed by {@link #unpin}.
   */
  @Nullable Object[] pinAll() {
    epochs.pin();
    slotsPinned = true;
    return slots;
  }

  /** Pins the content of one row, or {@code null}. Must be followed by {@link #unpin}. */
  @Nullable Object pinRow(KeyView view) {
    epochs.pin();
    int index = find(hash(view), view);
    return index < 0 ? null : slots[index];
  }

  void unpin() {
    epochs.release();
  }

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
      if (epochs.isPinned()) {
        slots = slots.clone();
      }
      slotsPinned = false;
    }
    return slots;
  }

  /** Returns a row that may be changed in place; converts a single value into a sorted row. */
  private SortedRow sortedRow(int index, KeyView view) {
    Object content = slot(index);
    if (!(content instanceof SortedRow row)) {
      SortedRow made =
          SortedRow.of(
              Arrays.copyOfRange(view.array, view.rowFrom, view.rowTo),
              epochs,
              Entries.rekeyed(content, view.array, view.rowTo, view.rowTo));
      set(index, made);
      return made;
    }
    if (epochs.mustCopy(row.epoch)) {
      SortedRow copy = row.copy(epochs.epoch());
      set(index, copy);
      return copy;
    }
    return row;
  }

  /** The slot of a row, or a negative number if it is absent. */
  private int find(int hash, KeyView view) {
    int mask = hashes.length - 1;
    int index = hash & mask;
    for (int other = hashes[index]; other != 0; other = hashes[index]) {
      if (other == hash && isRow(slot(index), view)) {
        return index;
      }
      index = (index + 1) & mask;
    }
    return -1;
  }

  private static boolean isRow(Object content, KeyView view) {
    if (content instanceof SortedRow row) {
      return Arrays.equals(row.row, 0, row.row.length, view.array, view.rowFrom, view.rowTo);
    }
    return Entries.hasKey(content, view.array, view.rowFrom, view.rowTo);
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
      // May move back unless its home slot lies after the free slot, cyclically.
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

  private static int hash(KeyView view) {
    return RowHash.of(view.array, view.rowFrom, view.rowTo);
  }
}
