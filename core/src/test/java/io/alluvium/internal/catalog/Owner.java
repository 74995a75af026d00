package io.alluvium.internal.catalog;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog.Commit;
import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.internal.catalog.CatalogSettings.Fencing;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Metrics;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.Supplier;
import java.util.zip.CRC32C;

/**
 * One process of a test: a catalog over its own view of the shared store, and what it keeps alive.
 */
final class Owner {

  static final byte[] CONTENT = "blob".getBytes(UTF_8);

  final ControlledStore store;
  final StepExecution execution = new StepExecution();
  final SlotCatalog catalog;

  /** What a backend would still name. */
  final Set<BlobName> live = new HashSet<>();

  /** Stored, and named by no checkpoint yet; as live as the others. */
  private final Set<BlobName> uploaded = new HashSet<>();

  private final LiveRegistration registration;

  Owner(MemoryBlobStore.Content content, long seed, CatalogSettings settings) {
    this.store = new ControlledStore(content);
    this.catalog = new SlotCatalog(store, execution, new Random(seed), Metrics.NONE, settings);
    this.registration = catalog.registerLive((Supplier<Set<BlobName>>) this::live);
  }

  static CatalogSettings retain(int checkpoints) {
    return new CatalogSettings(
        checkpoints, false, Duration.ofSeconds(60), Fencing.PUT_IF_ABSENT, "test");
  }

  static CatalogSettings fallback(int checkpoints) {
    return new CatalogSettings(
        checkpoints, true, Duration.ofSeconds(60), Fencing.PUT_IF_ABSENT, "test");
  }

  /** Takes over and keeps what it restores from alive. */
  Optional<Checkpoint> takeOver() {
    Optional<Checkpoint> restored = catalog.takeOver("job");
    restored.ifPresent(checkpoint -> live.addAll(blobs(checkpoint)));
    return restored;
  }

  static Set<BlobName> blobs(Checkpoint checkpoint) {
    Set<BlobName> blobs = new HashSet<>();
    checkpoint.handles().forEach(handle -> blobs.addAll(handle.blobs()));
    return blobs;
  }

  private Set<BlobName> live() {
    Set<BlobName> all = new HashSet<>(live);
    all.addAll(uploaded);
    return all;
  }

  /** Uploads a blob and names it in no checkpoint yet. */
  BlobName upload() {
    BlobName name = catalog.names().next(BlobName.Kind.LOG);
    uploaded.add(name);
    store.put(name.toString(), List.of(ByteBuffer.wrap(CONTENT)));
    return name;
  }

  /** Nobody needs an uploaded blob any more. */
  void letGo(BlobName name) {
    uploaded.remove(name);
  }

  BlobName uploadTable() {
    BlobName name = catalog.names().next(BlobName.Kind.TABLE);
    uploaded.add(name);
    store.put(name.toString(), List.of(ByteBuffer.wrap(CONTENT)));
    return name;
  }

  static int contentChecksum() {
    CRC32C crc = new CRC32C();
    crc.update(CONTENT);
    return (int) crc.getValue();
  }

  /** Commits these blobs; from then on nothing else is alive. */
  Commit commit(long id, Collection<BlobName> blobs) {
    List<BlobName> sorted = new ArrayList<>(blobs);
    sorted.sort(java.util.Comparator.comparing(BlobName::toString));
    live.addAll(sorted);
    uploaded.removeAll(sorted);
    Commit commit =
        catalog.commit(id, List.of(Samples.handle(id, sorted)), ("m" + id).getBytes(UTF_8));
    live.retainAll(sorted);
    return commit;
  }

  /** Uploads a blob, commits it alone, then lets the background work run. */
  BlobName commitOne(long id) {
    BlobName blob = upload();
    Commit unused = commit(id, List.of(blob));
    execution.runBackground();
    return blob;
  }

  /** As at a clean end: no backend is left. */
  void collectAtEnd() {
    registration.close();
    catalog.collectGarbage();
  }
}
