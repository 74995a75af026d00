package io.alluvium.spi;

/**
 * Hands out blob names that were never used before and never will be: the owner's incarnation and a
 * counter of the process (L6). Every name handed out is remembered as written by this owner until
 * it is collected. Thread-safe.
 */
public interface BlobNames {

  BlobName next(BlobName.Kind kind);

  Incarnation incarnation();
}
