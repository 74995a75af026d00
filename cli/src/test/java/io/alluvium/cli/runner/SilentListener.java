package io.alluvium.cli.runner;

/** Hears everything and says nothing. */
class SilentListener implements RunListener {
  @Override
  public void started(String what) {}

  @Override
  public void restored(RestoreRow restore) {}

  @Override
  public void confirmed(CheckpointRow checkpoint) {}

  @Override
  public void failed(long checkpointId, String reason) {}

  @Override
  public void storage(String what) {}

  @Override
  public void progress(long records, long bytesDone, long bytesTotal) {}
}
