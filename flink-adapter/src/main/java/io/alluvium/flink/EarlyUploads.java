package io.alluvium.flink;

import org.apache.flink.runtime.state.StreamStateHandle;
import org.jspecify.annotations.Nullable;

/** Stores blobs ahead of the checkpoint that will name them. Thread-safe. */
interface EarlyUploads {

  boolean wants(Blob blob);

  /**
   * Stores a blob; blocks.
   *
   * @return null when the blob has to wait for its checkpoint
   * @throws io.alluvium.StateBackendException {@code UNAVAILABLE}
   */
  @Nullable StreamStateHandle store(FlinkBlobStore store, Blob blob);
}
