package io.alluvium.flink;

import io.alluvium.spi.BlobName;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
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

  /**
   * Where Flink's files hold the blob. The file of the newest completed checkpoint may be gone when
   * a later one with another file has completed and the news of it is still on its way.
   */
  List<Place> places() {
    List<Place> places = new ArrayList<>(given.size() + 1);
    if (kept != null) {
      places.add(kept);
    }
    given.values().stream().filter(place -> !place.equals(kept)).forEach(places::add);
    return places;
  }

  boolean hasOwnCopy() {
    return bytes != null || file != null;
  }
}
