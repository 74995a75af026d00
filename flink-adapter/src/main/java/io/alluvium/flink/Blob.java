package io.alluvium.flink;

import io.alluvium.spi.BlobName;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.jspecify.annotations.Nullable;

/** What is known about one blob. Guarded by the {@link FlinkBlobStore} that it belongs to. */
final class Blob {

  final BlobName name;
  final long sizeBytes;

  /** The backend's own copy, in one of two forms; gone once a completed checkpoint has one. */
  byte @Nullable [] bytes;

  @Nullable Path file;

  /** Stored ahead of any checkpoint, and given to none yet. */
  @Nullable StreamStateHandle early;

  /** Whether that is going on. */
  boolean storing;

  /** In a file of the newest completed checkpoint that names the blob, or of what was restored. */
  @Nullable Place kept;

  /** In files of checkpoints whose verdict is awaited, by checkpoint. */
  final Map<Long, Place> given = new HashMap<>(2);

  Blob(BlobName name, long sizeBytes) {
    this.name = name;
    this.sizeBytes = sizeBytes;
  }

  boolean hasOwnCopy() {
    return bytes != null || file != null;
  }
}
