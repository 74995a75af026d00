package io.alluvium.cli.runner;

import io.alluvium.cli.input.Fingerprint;
import io.alluvium.cli.input.Position;
import io.alluvium.cli.input.Split;
import java.util.List;
import java.util.Map;

/**
 * What a checkpoint of the runner holds besides the state. Immutable; stored as JSON, see {@code
 * docs/formats/job-metadata.md}.
 *
 * @param format version of this record
 * @param kind of the job
 * @param parameters of the job, by option name
 * @param maxParallelism number of key groups
 * @param files the input as it was at the first start
 * @param splits fixed at the first start
 * @param positions one per split
 * @param firstCheckpoint the checkpoint of the first start; visible output of older ones belongs to
 *     an earlier life of the job and is removed
 * @param transactions every prepared transaction not known to be committed
 * @param counters what operators and sources counted, by name
 * @param outputs names of all visible files of a finished job; empty before
 * @param finished whether the input was read to its end and everything was emitted
 */
record JobMetadata(
    int format,
    String kind,
    Map<String, String> parameters,
    int maxParallelism,
    List<Fingerprint> files,
    List<Split> splits,
    List<Position> positions,
    long firstCheckpoint,
    List<Transaction> transactions,
    Map<String, Long> counters,
    List<String> outputs,
    boolean finished) {

  static final int FORMAT = 1;

  JobMetadata {
    parameters = Map.copyOf(parameters);
    files = List.copyOf(files);
    splits = List.copyOf(splits);
    positions = List.copyOf(positions);
    transactions = List.copyOf(transactions);
    counters = Map.copyOf(counters);
    outputs = List.copyOf(outputs);
  }

  /** As of a later checkpoint. */
  JobMetadata advancedTo(
      List<Position> newPositions,
      List<Transaction> newTransactions,
      Map<String, Long> newCounters) {
    return new JobMetadata(
        format,
        kind,
        parameters,
        maxParallelism,
        files,
        splits,
        newPositions,
        firstCheckpoint,
        newTransactions,
        newCounters,
        outputs,
        finished);
  }

  /** As of the last checkpoint. */
  JobMetadata finished(List<String> allOutputs) {
    return new JobMetadata(
        format,
        kind,
        parameters,
        maxParallelism,
        files,
        splits,
        positions,
        firstCheckpoint,
        transactions,
        counters,
        allOutputs,
        true);
  }

  /** The least watermark over all splits; those read to their end hold nothing back. */
  long watermark(long latenessMillis) {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < splits.size(); i++) {
      least = Math.min(least, Watermarks.of(splits.get(i), positions.get(i), latenessMillis));
    }
    return least;
  }
}
