package io.alluvium;

import io.alluvium.internal.arguments.Arguments;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.ObjLongConsumer;

/**
 * Looks at stored checkpoints without owning the job; writes nothing except {@link #collect}.
 * Thread-safe.
 */
public interface CheckpointInspector {

  /**
   * A slot of the chain that should hold a manifest.
   *
   * @param blobName of the slot
   * @param sizeBytes of the manifest
   * @param checkpoint empty when the manifest is damaged
   * @param problem what is wrong with it; empty when sound
   */
  record Entry(
      String blobName, long sizeBytes, Optional<Checkpoint> checkpoint, Optional<String> problem) {
    public Entry {
      Arguments.check(blobName, "blobName");
      Arguments.check(checkpoint, "checkpoint");
      Arguments.check(problem, "problem");
    }
  }

  /**
   * Every manifest, oldest first; takeover records are left out, and slots that cannot be read and
   * that the job goes on without since it started over or fell back.
   */
  List<Entry> list();

  /**
   * The manifests from the newest down to the first one that is sound, as {@link #list} tells them;
   * slots that cannot be read are told whether or not the job goes on without them. Asks for few
   * slots, however often the job was started. Empty when there is none.
   */
  List<Entry> newest();

  /**
   * Reads and checks every byte that a checkpoint refers to, then every other blob under the
   * directory.
   *
   * @param checkpointId {@code INVALID} when there is no such checkpoint and no damaged manifest
   *     that might be it
   * @param progress told the name of each blob checked and its size in bytes
   */
  Verification verify(long checkpointId, ObjLongConsumer<String> progress);

  /**
   * What a verification found.
   *
   * @param problems what is wrong, one sentence each that names blob, offset, expected and found;
   *     empty when all is sound
   * @param orphans names of blobs that no manifest reaches and that carry no checksum of their own,
   *     so that nothing can vouch for them, and slots that cannot be read and that the job goes on
   *     without; no damage, and nothing that a restore would read
   */
  record Verification(List<String> problems, List<String> orphans) {
    public Verification {
      problems = Arguments.copy(problems, "problems");
      orphans = Arguments.copy(orphans, "orphans");
    }
  }

  /**
   * What a collection found.
   *
   * @param deleted names of the blobs deleted, slots of checkpoints included, or that would be
   * @param bytes their size
   * @param kept blobs left alone because their owner may still need them
   */
  record Collection(List<String> deleted, long bytes, int kept) {
    public Collection {
      deleted = Arguments.copy(deleted, "deleted");
    }
  }

  /**
   * Deletes blobs that no retained manifest reaches. Spares everything of the newest incarnation
   * unless its newest blob is older than {@code grace}; a grace of zero states that the job is
   * stopped.
   *
   * @param mode whether to delete or only to say what would go
   */
  default Collection collect(Duration grace, CollectMode mode) {
    return collect(grace, Integer.MAX_VALUE, mode);
  }

  /**
   * As {@link #collect(Duration, CollectMode)}, and first retires checkpoints, as the owner does
   * with {@code state.checkpoints.num-retained}: a killed one may not have come to it. None is
   * retired while the newest incarnation is spared, or as long as it has stored no checkpoint of
   * its own: it may have fallen back to any of them.
   *
   * @param retained how many of the newest checkpoints stay, at least 1
   */
  Collection collect(Duration grace, int retained, CollectMode mode);

  /** Whether a collection deletes. */
  enum CollectMode {
    DELETE,
    DRY_RUN
  }
}
