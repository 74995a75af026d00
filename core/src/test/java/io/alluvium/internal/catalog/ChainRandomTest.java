package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.internal.catalog.CatalogSettings.Fencing;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Incarnation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Random owners on one chain. Whenever one of them calls the store, others may do anything first:
 * it stalls for as long. Calls fail before or after they take effect. After every step the newest
 * checkpoint can be restored, no confirmed checkpoint is lost, and no two owners confirm the same.
 */
class ChainRandomTest {

  private static final int ACTORS = 4;
  private static final int STEPS = 60;
  private static final int MAX_STALLED = 3;

  @Test
  void randomOwners_neverLoseOrShareACheckpoint() {
    long from = Long.getLong("seed", 1);
    int count =
        System.getProperty("seed") != null
            ? 1
            : Integer.getInteger("seeds", Boolean.getBoolean("alluvium.full") ? 5_000 : 200);
    for (long seed = from; seed < from + count; seed++) {
      try {
        new World(seed).run();
      } catch (Throwable e) {
        throw new AssertionError("replay with -Dseed=" + seed, e);
      }
    }
  }

  private static final class World {
    final Random random;
    final MemoryBlobStore.Content content = new MemoryBlobStore.Content();
    final MemoryBlobStore raw = new MemoryBlobStore(content, "memory:raw", () -> 0L);
    final List<Actor> actors = new ArrayList<>();
    final Map<Long, Incarnation> confirmedBy = new HashMap<>();

    /** Takeover slots of everybody that was told to be the owner. */
    final Map<Incarnation, Long> owned = new HashMap<>();

    final double failureRate;
    final int retained;
    long confirmed;
    long seeds;
    int stalled;

    World(long seed) {
      random = new Random(seed);
      seeds = seed << 20;
      failureRate = random.nextInt(3) * 0.03;
      retained = 1 + random.nextInt(2);
      for (int i = 0; i < ACTORS; i++) {
        actors.add(new Actor(this));
      }
    }

    void run() {
      for (int step = 0; step < STEPS; step++) {
        actors.get(random.nextInt(ACTORS)).step();
        checkNewest();
      }
      end();
    }

    /** Somebody calls the store: others may go first. */
    void meanwhile(Actor caller) {
      if (random.nextDouble() < failureRate) {
        if (random.nextBoolean()) {
          caller.owner.store.failBefore(call -> true, 1);
        } else {
          caller.owner.store.failAfter(call -> true, 1);
        }
      }
      if (caller.owns && stalled < MAX_STALLED && random.nextInt(16) == 0) {
        stalled++;
        caller.owner.execution.runBackground();
        stalled--;
      }
      while (stalled < MAX_STALLED && random.nextInt(8) == 0) {
        stalled++;
        actors.get(random.nextInt(ACTORS)).step();
        stalled--;
        checkNewest();
      }
    }

    void checkNewest() {
      List<Checkpoint> checkpoints = manifests();
      if (!checkpoints.isEmpty()) {
        Checkpoint newest = checkpoints.get(checkpoints.size() - 1);
        checkRestorable(newest);
        assertThat(owned.get(newest.writer()))
            .as("the newest checkpoint is of the last owner before it")
            .isEqualTo(
                owned.values().stream()
                    .filter(slot -> slot < newest.slot())
                    .max(Long::compare)
                    .orElseThrow());
      }
      assertThat(checkpoints.stream().mapToLong(Checkpoint::id).max().orElse(0))
          .as("the newest confirmed checkpoint is in the chain")
          .isGreaterThanOrEqualTo(confirmed);
    }

    List<Checkpoint> manifests() {
      List<Checkpoint> found = new ArrayList<>();
      SlotStore slots = new SlotStore(raw, Fencing.PUT_IF_ABSENT);
      slots
          .list()
          .forEach(
              (slot, blob) -> {
                SlotRead read = slots.read(slot, blob.sizeBytes());
                if (((SlotRead.Found) read).slot() instanceof SlotRecord.Manifest manifest) {
                  found.add(manifest.checkpoint());
                }
              });
      return found;
    }

    void checkRestorable(Checkpoint checkpoint) {
      for (BlobName blob : Owner.blobs(checkpoint)) {
        assertThat(raw.size(blob.toString())).as("%s of %d", blob, checkpoint.id()).isPresent();
      }
    }

    void owned(Owner owner) {
      Incarnation incarnation = owner.catalog.incarnation();
      SlotStore slots = new SlotStore(raw, Fencing.PUT_IF_ABSENT);
      for (Map.Entry<Long, BlobInfo> slot : slots.list().entrySet()) {
        if (slots.read(slot.getKey(), slot.getValue().sizeBytes()) instanceof SlotRead.Found found
            && found.slot() instanceof SlotRecord.Takeover takeover
            && takeover.header().writer().equals(incarnation)) {
          owned.put(incarnation, slot.getKey());
        }
      }
    }

    void confirm(long id, Incarnation by) {
      confirmed = Math.max(confirmed, id);
      assertThat(confirmedBy.putIfAbsent(id, by)).as("checkpoint %d", id).isIn(null, by);
    }

    /** A last owner cleans up: nothing is left but what is retained and takeover records. */
    void end() {
      Owner last = new Owner(content, ++seeds, Owner.retain(retained));
      long id = last.takeOver().map(Checkpoint::id).orElse(0L) + 1;
      owned(last);
      last.commitOne(id);
      last.collectAtEnd();
      Set<String> needed = new TreeSet<>();
      List<Checkpoint> left = manifests();
      left.forEach(
          checkpoint -> Owner.blobs(checkpoint).forEach(blob -> needed.add(blob.toString())));
      assertThat(left).hasSizeLessThanOrEqualTo(retained);
      assertThat(raw.list("data/")).extracting(BlobInfo::name).isSubsetOf(needed);
      checkNewest();
    }
  }

  private static final class Actor {
    final World world;
    Owner owner;
    boolean busy;
    boolean owns;
    long lastId;
    Optional<Runnable> again = Optional.empty();

    Actor(World world) {
      this.world = world;
      this.owner = fresh();
    }

    private Owner fresh() {
      Owner made = new Owner(world.content, ++world.seeds, Owner.retain(world.retained));
      made.store.beforeEach(() -> world.meanwhile(this));
      return made;
    }

    void step() {
      if (busy) {
        return;
      }
      busy = true;
      try {
        act();
      } catch (StateBackendException e) {
        assertThat(e.kind()).as("%s", e).isIn(Kind.UNAVAILABLE, Kind.FENCED);
        if (e.kind() == Kind.FENCED || world.random.nextBoolean()) {
          die();
        }
      } finally {
        busy = false;
      }
    }

    private void die() {
      owner = fresh();
      owns = false;
      again = Optional.empty();
    }

    private void act() {
      Random random = world.random;
      if (!owns) {
        takeOver();
      } else if (again.isPresent()) {
        again.get().run();
      } else {
        switch (random.nextInt(10)) {
          case 0, 1 -> owner.live.add(owner.upload());
          case 2, 3, 4, 5 -> commit();
          case 6, 7 -> owner.execution.runBackground();
          case 8 -> owner.catalog.collectGarbage();
          default -> {
            if (random.nextInt(4) == 0) {
              die();
            }
          }
        }
      }
    }

    private void takeOver() {
      long confirmedBefore = world.confirmed;
      Optional<Checkpoint> restored = owner.takeOver();
      owns = true;
      world.owned(owner);
      lastId = restored.map(Checkpoint::id).orElse(0L);
      assertThat(lastId).as("restored checkpoint").isGreaterThanOrEqualTo(confirmedBefore);
    }

    private void commit() {
      Set<BlobName> named = new HashSet<>();
      owner.live.stream().filter(blob -> world.random.nextInt(3) > 0).forEach(named::add);
      named.add(owner.upload());
      long id = lastId + 1;
      Runnable commit =
          () -> {
            owner.commit(id, named);
            lastId = id;
            again = Optional.empty();
            world.confirm(id, owner.catalog.incarnation());
          };
      again = Optional.of(commit);
      commit.run();
    }
  }
}
