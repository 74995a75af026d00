package io.alluvium.spi;

/** The decoded changes of one block, grouped by key group, in order within each. Immutable. */
public interface ChangeBlock {

  /** Bytes it occupies in memory, for bounding what is fetched ahead. */
  long sizeBytes();

  /** A cursor before the first change of {@code keyGroup}; one without changes when it has none. */
  ChangeCursor changes(int keyGroup);
}
