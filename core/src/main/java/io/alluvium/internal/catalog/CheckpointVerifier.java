package io.alluvium.internal.catalog;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointInspector;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.restore.RestorePlan;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.TableFile;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.ObjLongConsumer;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;

/**
 * Reads and checks every byte of one checkpoint, then every other blob of the store, once. Used
 * once, by one thread.
 */
final class CheckpointVerifier {

  private static final int BUFFER_BYTES = 256 << 10;

  private final BlobStore store;
  private final SlotStore slots;
  private final BiFunction<BlobStore, BlobName, ChangelogStorage.Verification> verifySegment;
  private final ObjLongConsumer<String> progress;
  private final Set<String> problems = new LinkedHashSet<>();
  private final List<String> orphans = new ArrayList<>();
  private final Set<String> checked = new HashSet<>();

  /** The blocks of each segment whose index can be read. */
  private final Map<BlobName, Set<BlockRef>> blocks = new HashMap<>();

  CheckpointVerifier(
      BlobStore store,
      SlotStore slots,
      BiFunction<BlobStore, BlobName, ChangelogStorage.Verification> verifySegment,
      ObjLongConsumer<String> progress) {
    this.store = store;
    this.slots = slots;
    this.verifySegment = verifySegment;
    this.progress = progress;
  }

  CheckpointInspector.Verification verify(long checkpointId) {
    ChainView chain = ChainView.read(slots);
    List<Long> matching =
        chain.manifests().entrySet().stream()
            .filter(entry -> entry.getValue().id() == checkpointId)
            .map(Map.Entry::getKey)
            .toList();
    if (matching.isEmpty() && chain.problems().isEmpty()) {
      throw unknown(checkpointId, chain);
    }
    // Of several, which only a fallback can leave, the newest one is meant; the rest is checked
    // below.
    if (!matching.isEmpty()) {
      long slot = matching.get(matching.size() - 1);
      verifyManifest(chain, slot);
      if (store.size(SlotNames.of(slot)).isEmpty()) {
        throw StateBackendException.invalid(
            "checkpoint " + checkpointId + " was retired by its owner while it was verified");
      }
    }
    for (long slot : chain.blobs().keySet()) {
      if (chain.manifests().containsKey(slot)) {
        verifyManifest(chain, slot);
      } else {
        verifySlot(chain, slot);
      }
    }
    for (BlobInfo blob : store.list("")) {
      verifyOther(blob);
    }
    return new CheckpointInspector.Verification(List.copyOf(problems), orphans);
  }

  private StateBackendException unknown(long checkpointId, ChainView chain) {
    String present =
        chain.manifests().values().stream()
            .map(checkpoint -> Long.toString(checkpoint.id()))
            .collect(Collectors.joining(", "));
    return StateBackendException.invalid(
        "there is no checkpoint "
            + checkpointId
            + " in '"
            + store.uri()
            + "'; there "
            + (present.isEmpty() ? "is none at all" : "are: " + present));
  }

  /** The slot's own bytes were checked when the chain was read. */
  private void verifySlot(ChainView chain, long slot) {
    BlobInfo blob = chain.blobs().get(slot);
    if (blob != null && checked.add(blob.name())) {
      StateBackendException problem = chain.damaged().get(slot);
      if (chain.givenUp().contains(slot)) {
        orphans.add(blob.name());
      } else if (problem != null) {
        problems.add(String.valueOf(problem.getMessage()));
      }
      progress.accept(blob.name(), blob.sizeBytes());
    }
  }

  private void verifyManifest(ChainView chain, long slot) {
    verifySlot(chain, slot);
    Checkpoint checkpoint = chain.manifests().get(slot);
    if (checkpoint == null) {
      return;
    }
    List<String> found = new ArrayList<>();
    for (CheckpointHandle handle : checkpoint.handles()) {
      verifyHandle(SlotNames.of(slot), handle, found);
      for (CheckpointHandle.Part part : handle.parts()) {
        part.materialization().map(Materialization::files).orElse(List.of()).stream()
            .filter(file -> checked.add(file.blob().toString()))
            .forEach(file -> verifyFile(file, found));
        part.blocks().forEach(block -> verifyBlock(block, found));
      }
      handle.tail().forEach(block -> verifyBlock(block, found));
    }
    // A checkpoint that its owner retires meanwhile may lose its blobs.
    if (!found.isEmpty() && store.size(SlotNames.of(slot)).isPresent()) {
      problems.addAll(found);
    }
  }

  /** Whether it could be restored by itself, as far as that can be told without its blobs. */
  private static void verifyHandle(String name, CheckpointHandle handle, List<String> found) {
    try {
      RestorePlan unused =
          RestorePlan.of(List.of(handle), handle.keyGroups(), handle.maxParallelism());
    } catch (StateBackendException e) {
      found.add(damaged(name, 0, "handles that can be restored", String.valueOf(e.getMessage())));
    }
  }

  private void verifyFile(TableFile file, List<String> found) {
    String name = file.blob().toString();
    OptionalLong size = store.size(name);
    if (size.isEmpty()) {
      found.add(missing(name, file.sizeBytes() + " bytes of table file '" + file.name() + "'"));
      return;
    }
    if (size.getAsLong() != file.sizeBytes()) {
      found.add(
          damaged(
              name,
              Math.min(size.getAsLong(), file.sizeBytes()),
              file.sizeBytes() + " bytes",
              size.getAsLong() + " bytes"));
    } else {
      int crc = checksum(name, file.sizeBytes());
      if (crc != file.crc32c()) {
        found.add(
            damaged(
                name,
                0,
                String.format("CRC32C 0x%08x of all %d bytes", file.crc32c(), file.sizeBytes()),
                String.format("0x%08x", crc)));
      }
    }
    progress.accept(name, size.getAsLong());
  }

  private int checksum(String name, long sizeBytes) {
    CRC32C crc = new CRC32C();
    byte[] buffer = new byte[(int) Math.max(1, Math.min(BUFFER_BYTES, sizeBytes))];
    try (InputStream in = store.open(name, 0, sizeBytes)) {
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        crc.update(buffer, 0, count);
      }
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot read blob '" + name + "': " + e.getMessage(), e);
    }
    return (int) crc.getValue();
  }

  private void verifyBlock(BlockRef block, List<String> found) {
    String name = block.blob().toString();
    if (!checked.contains(name)) {
      OptionalLong size = store.size(name);
      if (size.isPresent()) {
        verifySegment(block.blob(), size.getAsLong(), found);
      } else {
        checked.add(name);
        found.add(missing(name, "a segment with changes from " + block.fromSqn() + " on"));
      }
    }
    Set<BlockRef> there = blocks.get(block.blob());
    if (there != null && !there.contains(block)) {
      found.add(damaged(name, block.offset(), describe(block), describe(there, block.offset())));
    }
  }

  private static String describe(BlockRef block) {
    return "a block of "
        + block.length()
        + " bytes with the changes ["
        + block.fromSqn()
        + ", "
        + block.toSqn()
        + ")";
  }

  private static String describe(Set<BlockRef> there, long offset) {
    return there.stream()
        .filter(block -> block.offset() == offset)
        .findFirst()
        .map(CheckpointVerifier::describe)
        .orElse("no block in its index");
  }

  private void verifySegment(BlobName segment, long sizeBytes, List<String> found) {
    if (checked.add(segment.toString())) {
      try {
        ChangelogStorage.Verification verification = verifySegment.apply(store, segment);
        found.addAll(verification.problems());
        if (!verification.blocks().isEmpty()) {
          blocks.put(segment, Set.copyOf(verification.blocks()));
        }
      } catch (StateBackendException e) {
        if (e.kind() != Kind.CORRUPT && e.kind() != Kind.INCOMPATIBLE) {
          throw e;
        }
        found.add(String.valueOf(e.getMessage()));
      }
      progress.accept(segment.toString(), sizeBytes);
    }
  }

  private void verifyOther(BlobInfo blob) {
    if (checked.contains(blob.name()) || SlotNames.tryParse(blob.name()).isPresent()) {
      return;
    }
    BlobName name = BlobName.tryParse(blob.name()).orElse(null);
    if (name == null || name.kind() != BlobName.Kind.LOG) {
      orphans.add(blob.name());
      return;
    }
    List<String> found = new ArrayList<>();
    verifySegment(name, blob.sizeBytes(), found);
    if (!found.isEmpty() && store.size(blob.name()).isPresent()) {
      problems.addAll(found);
    }
  }

  private static String missing(String name, String expected) {
    return damaged(name, 0, expected, "nothing of that name");
  }

  private static String damaged(String name, long offset, String expected, String found) {
    return String.valueOf(
        StateBackendException.corrupt(name, offset, expected, found).getMessage());
  }
}
