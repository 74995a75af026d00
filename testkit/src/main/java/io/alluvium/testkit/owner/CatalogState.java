package io.alluvium.testkit.owner;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.internal.catalog.CatalogSettings;
import io.alluvium.internal.catalog.LiveRegistration;
import io.alluvium.internal.catalog.SlotCatalog;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Metrics;
import io.alluvium.testkit.sim.SimulatedProcess;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/**
 * Only the catalog: the ownership protocol without a backend. Each checkpoint writes one blob and
 * also needs the previous one. Confined to the owner's thread.
 */
public final class CatalogState implements OwnedState {

  private static final int MAX_PARALLELISM = 1;

  private final BlobStore store;
  private final SlotCatalog catalog;
  private final List<BlobName> needed = new ArrayList<>();
  private final TreeMap<Long, List<BlobName>> pending = new TreeMap<>();
  private LiveRegistration registration = () -> {};
  private long applied;

  public CatalogState(
      SimulatedProcess process, BlobStore store, CatalogSettings settings, Random random) {
    this.store = store;
    this.catalog = new SlotCatalog(store, process.execution(), random, Metrics.NONE, settings);
  }

  @Override
  public CheckpointCatalog catalog() {
    return catalog;
  }

  @Override
  public void restore(Optional<Checkpoint> checkpoint) {
    checkpoint.ifPresent(
        restored -> {
          restored.handles().forEach(handle -> needed.addAll(handle.blobs()));
          applied = restored.handles().get(0).end();
          needed.forEach(blob -> store.read(blob.toString(), 0, 1));
        });
    registration = catalog.registerLive(this::live);
  }

  private Set<BlobName> live() {
    Set<BlobName> live = new HashSet<>(needed);
    pending.values().forEach(live::addAll);
    return live;
  }

  @Override
  public void apply(long offset) {
    applied++;
  }

  @Override
  public long applied() {
    return applied;
  }

  @Override
  public List<CheckpointHandle> checkpoint(long id) {
    BlobName blob = catalog.names().next(BlobName.Kind.LOG);
    List<BlobName> blobs = new ArrayList<>();
    if (!needed.isEmpty()) {
      blobs.add(needed.get(needed.size() - 1));
    }
    blobs.add(blob);
    pending.put(id, blobs);
    store.put(blob.toString(), List.of(ByteBuffer.wrap(new byte[] {1})));
    needed.add(blob);
    List<BlockRef> tail =
        blobs.stream().map(each -> new BlockRef(each, 0, 1, applied - 1, applied)).toList();
    return List.of(
        new CheckpointHandle(
            id,
            new KeyGroupRange(0, MAX_PARALLELISM),
            MAX_PARALLELISM,
            applied,
            List.of(),
            tail,
            new SerializerSnapshot("test", 1, new byte[0]),
            List.of()));
  }

  @Override
  public void confirm(long id) {
    List<BlobName> blobs = pending.getOrDefault(id, List.of());
    needed.retainAll(blobs);
    pending.headMap(id, true).clear();
  }

  @Override
  public void abort(long id) {
    pending.remove(id);
  }

  @Override
  public void close() {
    registration.close();
    needed.clear();
    pending.clear();
  }
}
