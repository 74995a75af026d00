package io.alluvium.internal.catalog;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.catalog.CatalogSettings.Fencing;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * The slots of the chain as blobs. Thread-safe; calls block on the store and fail with {@code
 * UNAVAILABLE} when it does.
 */
final class SlotStore {

  private final BlobStore store;
  private final Fencing fencing;

  SlotStore(BlobStore store, Fencing fencing) {
    this.store = store;
    this.fencing = fencing;
  }

  String uri() {
    return store.uri();
  }

  /** Every slot there is, with what the listing says of its blob. */
  NavigableMap<Long, BlobInfo> list() {
    NavigableMap<Long, BlobInfo> slots = new TreeMap<>();
    for (BlobInfo blob : store.list(SlotNames.PREFIX)) {
      SlotNames.tryParse(blob.name()).ifPresent(slot -> slots.put(slot, blob));
    }
    return slots;
  }

  SlotRead read(long slot) {
    OptionalLong size = store.size(SlotNames.of(slot));
    return size.isPresent() ? read(slot, size.getAsLong()) : new SlotRead.Missing();
  }

  /**
   * Reads a slot.
   *
   * @param sizeBytes as a listing told it; a slot never changes
   */
  SlotRead read(long slot, long sizeBytes) {
    String name = SlotNames.of(slot);
    try {
      return new SlotRead.Found(ManifestFormat.decode(name, slot, bytes(name, sizeBytes)));
    } catch (StateBackendException e) {
      return unreadable(name, e);
    }
  }

  private byte[] bytes(String name, long sizeBytes) {
    if (sizeBytes > ManifestFormat.MAX_BYTES) {
      throw StateBackendException.corrupt(
          name,
          ManifestFormat.MAX_BYTES,
          "at most " + ManifestFormat.MAX_BYTES + " bytes",
          sizeBytes + " bytes");
    }
    return store.read(name, 0, (int) sizeBytes);
  }

  private SlotRead unreadable(String name, StateBackendException e) {
    if (e.kind() == Kind.CORRUPT && store.size(name).isEmpty()) {
      return new SlotRead.Missing();
    }
    if (e.kind() == Kind.CORRUPT || e.kind() == Kind.INCOMPATIBLE) {
      return new SlotRead.Unreadable(e);
    }
    throw e;
  }

  /**
   * Puts {@code bytes} into a slot unless it is taken; safe to repeat after {@code UNAVAILABLE}: a
   * slot that holds exactly these bytes was ours all along.
   *
   * @return empty when the slot holds these bytes now, else what was found in it
   */
  Optional<SlotRead> put(long slot, byte[] bytes) {
    String name = SlotNames.of(slot);
    if (putIfAbsent(name, bytes)) {
      return Optional.empty();
    }
    OptionalLong size = store.size(name);
    if (size.isEmpty()) {
      return Optional.of(new SlotRead.Missing());
    }
    try {
      byte[] found = bytes(name, size.getAsLong());
      return Arrays.equals(found, bytes)
          ? Optional.empty()
          : Optional.of(new SlotRead.Found(ManifestFormat.decode(name, slot, found)));
    } catch (StateBackendException e) {
      return Optional.of(unreadable(name, e));
    }
  }

  private boolean putIfAbsent(String name, byte[] bytes) {
    if (fencing == Fencing.PUT_IF_ABSENT) {
      return store.putIfAbsent(name, bytes);
    }
    if (store.size(name).isPresent()) {
      return false;
    }
    store.put(name, List.of(ByteBuffer.wrap(bytes)));
    return true;
  }

  /**
   * Whether a slot that is taken cannot be put again, as it must be.
   *
   * @param bytes another form of what is in it, so that a store that takes them has spoilt nothing
   */
  boolean refuses(long slot, byte[] bytes) {
    return fencing == Fencing.NONE || !store.putIfAbsent(SlotNames.of(slot), bytes);
  }

  void delete(Collection<Long> slots) {
    store.delete(slots.stream().map(SlotNames::of).toList());
  }
}
