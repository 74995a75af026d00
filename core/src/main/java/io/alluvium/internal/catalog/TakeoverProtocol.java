package io.alluvium.internal.catalog;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Incarnation;
import java.time.Instant;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Becomes the owner of a chain (C3). One takeover, confined to one thread. */
final class TakeoverProtocol {

  /*
   *   1. List the slots; the next free one is one above the greatest listed, never a gap below it.
   *   2. Put a takeover record with a fresh incarnation into it, if it is free. Taken by somebody else: start again.
   *   3. List again. A slot above ours: between 1 and 2 an owner went on and deleted the slot that we then filled, so
   *      ours is in its past. Start again above that slot, with another incarnation, because the first one may not own
   *      anything, ever.
   *   4. Ours is the greatest: we are the owner. Whoever owned the chain before finds its next slot taken, by us or by a
   *      takeover record that nobody deletes.
   *   5. All of it rests on puts that are refused when the slot is taken. Ours is, so putting it again must fail.
   */

  private static final Logger LOG = LoggerFactory.getLogger(TakeoverProtocol.class);

  /** More takers than this within one takeover do not exist. */
  private static final int MAX_ROUNDS = 1_000;

  private final SlotStore slots;
  private final Retrier retrier;
  private final Execution execution;
  private final RandomGenerator random;
  private final String libraryVersion;

  TakeoverProtocol(
      SlotStore slots,
      Retrier retrier,
      Execution execution,
      RandomGenerator random,
      String libraryVersion) {
    this.slots = slots;
    this.retrier = retrier;
    this.execution = execution;
    this.random = random;
    this.libraryVersion = libraryVersion;
  }

  /**
   * Takes over.
   *
   * @param index of the job; holds the slots as they were listed when the chain was ours
   * @param damaged told what is wrong with the newest slots, before anything is written; what it
   *     throws is thrown
   */
  Ownership.Owner run(String job, SlotIndex index, Consumer<StateBackendException> damaged) {
    NavigableMap<Long, BlobInfo> listing = retrier.call(slots::list);
    for (int round = 0; round < MAX_ROUNDS; round++) {
      index.listed(listing);
      long follows = retrier.call(() -> index.checkJob(damaged));
      long greatest = listing.isEmpty() ? 0 : listing.lastKey();
      long slot = greatest + 1;
      Incarnation incarnation = Incarnation.random(random);
      Instant now = Instant.ofEpochMilli(execution.currentTimeMillis());
      byte[] bytes = ManifestFormat.encode(record(job, slot, follows, incarnation, now));
      Optional<SlotRead> taken = retrier.call(() -> slots.put(slot, bytes));
      listing = retrier.call(slots::list);
      if (taken.isEmpty() && isGreatest(slot, listing)) {
        index.listed(listing);
        checkRefused(job, slot, record(job, slot, follows, incarnation, now.plusMillis(1)));
        return new Ownership.Owner(job, incarnation, slot);
      }
      LOG.info(
          "Takeover of job '{}' at slot {} lost a race: slot {} is the greatest now",
          job,
          slot,
          listing.isEmpty() ? 0 : listing.lastKey());
    }
    throw StateBackendException.unavailable(
        "job '"
            + job
            + "' in '"
            + slots.uri()
            + "' could not be taken over: "
            + MAX_ROUNDS
            + " others did so meanwhile; stop them and start again",
        new IllegalStateException("takeover lost every race"));
  }

  /**
   * Ours is there for good, so that a store which takes it again would take anybody's.
   *
   * @param again our record, but not the same bytes: finding those, a store that made two requests
   *     of one put rightly says that it stored them
   */
  private void checkRefused(String job, long slot, SlotRecord again) {
    byte[] bytes = ManifestFormat.encode(again);
    if (!retrier.call(() -> slots.refuses(slot, bytes))) {
      throw StateBackendException.invalid(
          "'"
              + slots.uri()
              + "' stored blob '"
              + SlotNames.of(slot)
              + "' a second time although it was to be stored only if absent, so that two processes"
              + " could own job '"
              + job
              + "' at once; use a store that honours such puts (for S3: If-None-Match), or set"
              + " alluvium.fencing=none and see to it that never two processes run the job");
    }
  }

  private SlotRecord record(
      String job, long slot, long follows, Incarnation incarnation, Instant createdAt) {
    return new SlotRecord.Takeover(
        new SlotRecord.Header(job, slot, follows, incarnation, libraryVersion, createdAt));
  }

  private boolean isGreatest(long slot, NavigableMap<Long, BlobInfo> listing) {
    if (!listing.isEmpty() && listing.lastKey() > slot) {
      // In a gap: the owner may even have deleted our record, under the name of its own old slot.
      return false;
    }
    if (!listing.containsKey(slot)) {
      throw StateBackendException.internal(
          "'"
              + slots.uri()
              + "' does not list blob '"
              + SlotNames.of(slot)
              + "' right after storing it; a store must list what it has stored");
    }
    return true;
  }
}
