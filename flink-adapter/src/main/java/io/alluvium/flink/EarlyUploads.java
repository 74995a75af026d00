package io.alluvium.flink;

import io.alluvium.spi.Pace;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.jspecify.annotations.Nullable;

/** Stores blobs ahead of the checkpoint that will name them. Thread-safe. */
interface EarlyUploads {

  boolean wants(Blob blob);

  /**
   * Stores a blob. Does not wait.
   *
   * @param pace asked before each piece
   * @return the file, null when there is nowhere to store it before its checkpoint; fails with a
   *     {@link io.alluvium.StateBackendException}
   */
  CompletableFuture<@Nullable StreamStateHandle> store(FlinkBlobStore store, Blob blob, Pace pace);
}
