package io.alluvium.cli.runner;

/**
 * Measurements of a confirmed checkpoint, as tables show them. Immutable.
 *
 * @param syncMicros longest synchronous part of a subtask
 * @param asyncMillis from the end of the last synchronous part to the confirmation
 * @param durationMillis from the request to the confirmation
 * @param bytesFlushed what was written for this checkpoint: new blocks of the log (with the
 *     changelog disabled: new files of the tables) and the manifest
 * @param fullBytes what a restore from it would read, at most
 * @param changelogBlocks blocks of the log that it names
 * @param materialization the files that it starts from, for people; "-" when there are none
 */
public record CheckpointRow(
    long id,
    long syncMicros,
    double asyncMillis,
    double durationMillis,
    long bytesFlushed,
    long fullBytes,
    int changelogBlocks,
    String materialization) {}
