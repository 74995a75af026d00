package io.alluvium;

/**
 * What a restore did. Immutable.
 *
 * @param filesLinked table files found locally with the right checksum
 * @param filesDownloaded table files fetched from the blob store
 * @param bytesDownloaded bytes fetched, changelog included
 * @param blocksRead blocks of the changelog
 * @param changesReplayed changes in them that were applied (before coalescing)
 * @param downloadMillis until the last table file was there
 * @param openMillis opening, importing and clipping the table
 * @param replayMillis applying changes
 * @param totalMillis from start to end
 */
public record RestoreReport(
    int filesLinked,
    int filesDownloaded,
    long bytesDownloaded,
    int blocksRead,
    long changesReplayed,
    long downloadMillis,
    long openMillis,
    long replayMillis,
    long totalMillis) {

  /** Of a backend that started empty. */
  public static final RestoreReport NONE = new RestoreReport(0, 0, 0, 0, 0, 0, 0, 0, 0);
}
