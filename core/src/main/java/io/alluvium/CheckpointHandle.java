package io.alluvium;

import io.alluvium.internal.arguments.Arguments;
import io.alluvium.internal.catalog.CheckpointHandleFormat;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Materialization;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Everything one subtask needs to restore one checkpoint: which files to open and which changes to
 * replay onto them. Immutable; stored inside a manifest (see {@code docs/formats/manifest.md}).
 *
 * @param checkpointId the checkpoint it belongs to
 * @param keyGroups the subtask's key groups
 * @param maxParallelism number of key groups of the whole job
 * @param end the first sequence number that is not part of the checkpoint; always recorded, also
 *     when nothing was logged (P4)
 * @param parts what is opened first; one after a materialization, several after a rescale that none
 *     followed yet, none for a young backend
 * @param tail blocks of this backend's own changelog that are replayed over every part, ascending,
 *     up to {@code end}
 * @param key format of the keys
 * @param states all registered states, by name ascending
 */
public record CheckpointHandle(
    long checkpointId,
    KeyGroupRange keyGroups,
    int maxParallelism,
    long end,
    List<Part> parts,
    List<BlockRef> tail,
    SerializerSnapshot key,
    List<StateRegistration> states) {

  /**
   * One parent of the table.
   *
   * @param keyGroups what to take from it; the parts of a handle do not overlap
   * @param materialization the files; none for a parent that never materialized
   * @param blocks of the parent's changelog, ascending, replayed before the handle's tail, from the
   *     materialization's position
   */
  public record Part(
      KeyGroupRange keyGroups, Optional<Materialization> materialization, List<BlockRef> blocks) {
    public Part {
      Arguments.check(keyGroups, "keyGroups");
      Arguments.check(materialization, "materialization");
      blocks = Arguments.copy(blocks, "blocks");
    }
  }

  public CheckpointHandle {
    Arguments.check(keyGroups, "keyGroups");
    Arguments.check(key, "key");
    parts = Arguments.copy(parts, "parts");
    tail = Arguments.copy(tail, "tail");
    states = Arguments.copy(states, "states");
  }

  /**
   * The handle as bytes, for whoever keeps checkpoints in the catalog's place: the format of
   * handles in a manifest. Without a checksum; whoever stores them adds one.
   */
  public byte[] encode() {
    return CheckpointHandleFormat.encode(List.of(this));
  }

  /**
   * Reads what {@link #encode} wrote.
   *
   * @throws StateBackendException {@code CORRUPT}, or {@code INCOMPATIBLE} for a newer version
   */
  public static CheckpointHandle decode(byte[] bytes) {
    List<CheckpointHandle> handles =
        CheckpointHandleFormat.decode(Arguments.notNull(bytes, "bytes"));
    if (handles.size() != 1) {
      throw StateBackendException.corrupt("one handle was expected, found " + handles.size());
    }
    return handles.get(0);
  }

  /** Names of all blobs that a restore would read. */
  public Set<BlobName> blobs() {
    Set<BlobName> names = new LinkedHashSet<>();
    forEachBlob(names::add);
    return names;
  }

  /** As {@link #blobs}, one by one; a name may come more than once. */
  public void forEachBlob(Consumer<BlobName> action) {
    Arguments.check(action, "action");
    for (Part part : parts) {
      part.materialization()
          .ifPresent(files -> files.files().forEach(file -> action.accept(file.blob())));
      part.blocks().forEach(block -> action.accept(block.blob()));
    }
    tail.forEach(block -> action.accept(block.blob()));
  }
}
