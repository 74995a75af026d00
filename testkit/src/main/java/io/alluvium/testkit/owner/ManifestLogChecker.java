package io.alluvium.testkit.owner;

import io.alluvium.serializer.ByteReader;
import io.alluvium.spi.Incarnation;
import io.alluvium.testkit.blob.MapBlobStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Checks the invariants of the stored manifest log after every step (C3, C3a, C4 and C6). Parses
 * the documented format with its own code. Used only by the actor of a simulation whose turn it is.
 */
public final class ManifestLogChecker {

  private static final int KIND_AT = 10;
  private static final int BODY_AT = 16;
  private static final int MANIFEST = 2;

  private record Slot(long number, Incarnation writer, long checkpointId, Progress progress) {
    boolean isManifest() {
      return checkpointId > 0;
    }
  }

  private final MapBlobStore blobs;
  private final Sink sink;
  private final Map<String, Slot> everSeen = new HashMap<>();

  /**
   * Takeover records that made an owner. A record that a stalled taker put into a gap below the
   * greatest slot is stale, and may be deleted.
   */
  private final List<Slot> takeovers = new ArrayList<>();

  private TreeMap<Long, Slot> slots = new TreeMap<>();
  private Map<String, byte[]> before = Map.of();

  public ManifestLogChecker(MapBlobStore blobs, Sink sink) {
    this.blobs = blobs;
    this.sink = sink;
  }

  /** Fails if an invariant of the store or the sink does not hold. */
  public void check() {
    Map<String, byte[]> content = blobs.content();
    if (!content.keySet().equals(before.keySet())) {
      TreeMap<Long, Slot> now = new TreeMap<>();
      content.forEach(
          (name, bytes) -> {
            if (name.startsWith("slots/")) {
              long number = Long.parseLong(name.substring(6), 16);
              // After a deletion, a slot may be written again with other bytes.
              String key = name + Arrays.hashCode(bytes);
              now.put(number, everSeen.computeIfAbsent(key, each -> parse(number, bytes)));
            }
          });
      checkNewSlots(now);
      checkNoNeededBlobIsDeleted(now, content);
      slots = now;
      before = content;
    }
    checkOutput();
  }

  private static Slot parse(long number, byte[] bytes) {
    ByteReader in = new ByteReader(bytes, BODY_AT, bytes.length - BODY_AT - 4);
    in.skip(in.readVarInt()); // job
    if (in.readVarLong() != number) {
      throw new AssertionError("slot " + number + " contains the number of another slot");
    }
    in.readVarLong();
    Incarnation writer = Incarnation.read(in);
    in.skip(in.readVarInt()); // version of the library
    in.readLong();
    if (bytes[KIND_AT] != MANIFEST) {
      return new Slot(number, writer, 0, Progress.NONE);
    }
    return new Slot(number, writer, in.readVarLong(), Progress.parse(in.readByteArray()));
  }

  /** One owner at a time: a manifest follows a slot of the same writer and has a greater id. */
  private void checkNewSlots(NavigableMap<Long, Slot> now) {
    long greatest = slots.isEmpty() ? 0 : slots.lastKey();
    for (Slot slot : now.tailMap(greatest, false).values()) {
      if (slot.number != greatest + 1) {
        throw new AssertionError("slot " + slot.number + " leaves a gap above slot " + greatest);
      }
      if (slot.isManifest()) {
        Slot below = slots.get(greatest);
        if (below == null || !below.writer.equals(slot.writer)) {
          throw new AssertionError(
              "two owners: " + slot.writer + " stores a checkpoint above slot " + below);
        }
        long newest = newestManifest(slots).checkpointId;
        if (slot.checkpointId <= newest) {
          throw new AssertionError("checkpoint " + slot.checkpointId + " follows " + newest);
        }
      } else {
        takeovers.add(slot);
      }
      greatest = slot.number;
    }
  }

  private static Slot newestManifest(NavigableMap<Long, Slot> slots) {
    for (Slot slot : slots.descendingMap().values()) {
      if (slot.isManifest()) {
        return slot;
      }
    }
    return new Slot(0, new Incarnation(0, 0), 0, Progress.NONE);
  }

  private void checkNoNeededBlobIsDeleted(
      NavigableMap<Long, Slot> now, Map<String, byte[]> content) {
    for (Slot takeover : takeovers) {
      if (!takeover.equals(now.get(takeover.number))) {
        throw new AssertionError("the takeover record in slot " + takeover + " is deleted");
      }
    }
    if (!slots.isEmpty() && !now.containsKey(slots.lastKey())) {
      throw new AssertionError("the greatest slot, " + slots.lastKey() + ", is deleted");
    }
    Slot newest = newestManifest(now);
    if (newest.number < newestManifest(slots).number) {
      throw new AssertionError("the newest manifest is deleted");
    }
    for (String blob : newest.progress.blobs()) {
      if (!content.containsKey(blob)) {
        throw new AssertionError(
            "checkpoint " + newest.checkpointId + " is the newest and lacks blob '" + blob + "'");
      }
    }
  }

  /** The output of the newest checkpoint is committed, or prepared and listed in the checkpoint. */
  private void checkOutput() {
    Progress newest = newestManifest(slots).progress;
    for (long offset = 1; offset <= newest.offset(); offset++) {
      long expected = offset;
      boolean pending =
          newest.transactions().stream()
              .anyMatch(each -> each.offset() == expected && !sink.isRolledBack(each));
      if (!pending && !sink.isCommitted(offset)) {
        throw new AssertionError("the output of offset " + offset + " is lost");
      }
    }
  }

  /** Whether that writer wrote the greatest slot. */
  public boolean isOwner(Incarnation incarnation) {
    return !slots.isEmpty() && slots.lastEntry().getValue().writer.equals(incarnation);
  }

  /** Input offset of the newest checkpoint. */
  public long newestOffset() {
    return newestManifest(slots).progress.offset();
  }

  /** Names of the blobs that stored checkpoints need. */
  public Set<String> needed() {
    Set<String> needed = new TreeSet<>();
    slots.values().forEach(slot -> needed.addAll(slot.progress.blobs()));
    return needed;
  }

  /** Number of checkpoints ever stored. */
  public long checkpointsSeen() {
    return everSeen.values().stream().filter(Slot::isManifest).count();
  }
}
