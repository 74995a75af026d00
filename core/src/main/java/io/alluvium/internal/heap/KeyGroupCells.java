package io.alluvium.internal.heap;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The states of one key group. Confined to one thread at a time. */
final class KeyGroupCells {

  private final int keyGroup;
  private int[] ids = new int[2];
  private @Nullable Cell[] cells = new @Nullable Cell[2];
  private int count;

  KeyGroupCells(int keyGroup) {
    this.keyGroup = keyGroup;
  }

  @Nullable Cell find(int stateId) {
    for (int i = 0; i < count; i++) {
      if (ids[i] == stateId) {
        return cells[i];
      }
    }
    return null;
  }

  Cell findOrAdd(int stateId) {
    Cell known = find(stateId);
    if (known != null) {
      return known;
    }
    Cell cell = new Cell(keyGroup, stateId);
    if (count == ids.length) {
      ids = Arrays.copyOf(ids, 2 * count);
      cells = Arrays.copyOf(cells, 2 * count);
    }
    ids[count] = stateId;
    cells[count++] = cell;
    return cell;
  }

  /** The cells in the order of their keys, which is not that of the state ids. */
  List<Cell> inOrder() {
    List<Cell> all = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      Cell cell = cells[i];
      if (cell != null && cell.rows() > 0) {
        all.add(cell);
      }
    }
    all.sort((a, b) -> Arrays.compareUnsigned(a.prefix, b.prefix));
    return all;
  }
}
