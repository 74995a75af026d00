package io.alluvium.cli.runner;

/** Is told how a run goes on, by the coordinator's thread. */
public interface RunListener {

  /** The job starts at the beginning, or goes on from a checkpoint. */
  void started(String what);

  void restored(RestoreRow restore);

  void confirmed(CheckpointRow checkpoint);

  void failed(long checkpointId, String reason);

  /** Storage has refused everything for a while, or answers again. */
  void storage(String what);

  /** Called several times a second. */
  void progress(long records, long bytesDone, long bytesTotal);
}
