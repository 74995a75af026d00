package io.alluvium.spi;

/**
 * Hands out blob names that were never used before and never will be: the owner's incarnation and a
 * counter of the process (L6). Every name handed out is remembered as written by this owner until
 * it is collected. Thread-safe.
 */
public interface BlobNames {

  /**
   * A new name. Whoever takes it must show it in its live set, from then on and for as long as it
   * needs the blob: under the lock under which it answers what is live, or a collection may take
   * the blob for garbage.
   */
  BlobName next(BlobName.Kind kind);

  Incarnation incarnation();
}
