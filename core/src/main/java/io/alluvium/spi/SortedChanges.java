package io.alluvium.spi;

import java.util.List;

/**
 * Coalesced changes of some key groups: range deletions that come first, then at most one PUT,
 * DELETE or MERGE per key, ascending by key. Applying them in that order has the effect of all the
 * changes they were made from. Walked once, by one thread.
 */
public interface SortedChanges {

  /**
   * Prefixes whose keys are removed before any entry is applied, ascending, none a prefix of
   * another.
   */
  List<byte[]> rangeDeletes();

  /** How many entries there are. */
  int entries();

  /** Bytes of keys and values. */
  long sizeBytes();

  /** Moves to the next entry; false at the end. */
  boolean next();

  Operation operation();

  byte[] keyArray();

  int keyOffset();

  int keyLength();

  byte[] valueArray();

  int valueOffset();

  int valueLength();
}
