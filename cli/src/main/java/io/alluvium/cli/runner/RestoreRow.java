package io.alluvium.cli.runner;

/**
 * Measurements of a restore, over all subtasks. Immutable.
 *
 * @param checkpoint the one restored
 * @param millis from the takeover's end until every subtask had its state
 */
public record RestoreRow(
    long checkpoint,
    int filesLinked,
    int filesDownloaded,
    int blocksRead,
    long bytesDownloaded,
    long changesReplayed,
    long millis) {}
