package io.alluvium.internal.catalog;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Metrics;
import java.time.Instant;
import java.util.List;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The chain of a job's checkpoints as slots in a blob store. Thread-safe; calls block on the store.
 *
 * <p>For whoever wires a process together: one catalog per process, made over the job's store
 * before anything is stored. {@link #names()} goes to the changelog storage and to whatever uploads
 * table files. Every keyed backend {@linkplain #registerLive registers} its live set, under which
 * come the blobs that it was restored from, its newest durable materialization, uploads that are
 * running, all blocks above its trim point and the handles of every checkpoint that is triggered
 * and neither confirmed nor aborted; it stays registered until no commit that carries its handle is
 * running or will follow. A name is live from {@link BlobNames#next} on: the time until the first
 * collection that sees it in a live set is covered here. The clean end is: commit, close the keyed
 * backends (so that no live set is left), {@link #collectGarbage}, {@link #close}. Store and
 * execution are not closed here.
 */
public final class SlotCatalog implements CheckpointCatalog, AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(SlotCatalog.class);

  private static final int MAX_JOB_LENGTH = 255;

  private final SlotStore slots;
  private final Execution execution;
  private final RandomGenerator random;
  private final CatalogSettings settings;
  private final Runnable beforeTakeover;
  private final Retrier retrier;
  private final Ownership ownership;
  private final BlobLedger ledger = new BlobLedger();
  private final GarbageCollector collector;
  private final HandleChecks handleChecks = new HandleChecks();
  private final Metrics.Histogram commitMicros;
  private final Metrics.Histogram manifestBytes;

  /** The owner's; absent before the takeover. */
  private final AtomicReference<@Nullable SlotIndex> index = new AtomicReference<>();

  public SlotCatalog(
      BlobStore store,
      Execution execution,
      RandomGenerator random,
      Metrics metrics,
      CatalogSettings settings) {
    this(store, execution, random, metrics, settings, () -> {});
  }

  /**
   * @param beforeTakeover run before anything is written; what it throws is thrown, so that a
   *     process that cannot go on leaves the present owner alone
   */
  public SlotCatalog(
      BlobStore store,
      Execution execution,
      RandomGenerator random,
      Metrics metrics,
      CatalogSettings settings,
      Runnable beforeTakeover) {
    this.beforeTakeover = beforeTakeover;
    this.slots = new SlotStore(store, settings.fencing());
    this.execution = execution;
    this.random = random;
    this.settings = settings;
    this.retrier = new Retrier(execution, random, settings.commitTimeout());
    this.ownership = new Ownership(settings);
    this.collector = new GarbageCollector(store, slots, ownership, ledger, execution, metrics);
    this.commitMicros = metrics.histogram("catalog.commit.micros");
    this.manifestBytes = metrics.histogram("catalog.manifest.bytes");
  }

  /** Names for blobs of this owner; {@code INVALID} before {@link #takeOver}. */
  public BlobNames names() {
    return ledger;
  }

  /**
   * Asks {@code live} at every collection which blobs are still needed. It is called on a
   * background thread, must not block, and must not miss a blob that moves from one place to
   * another meanwhile.
   */
  public LiveRegistration registerLive(Supplier<Set<BlobName>> live) {
    return ledger.register(live);
  }

  /**
   * Notes that this process made the backend of some key groups. A later commit of it is {@code
   * INVALID} when it was made empty although the newest checkpoint holds state for it. Handles that
   * were made in other processes are not judged: nothing in them tells a job that began anew.
   *
   * @param restoreFrom the handles that it was restored from; none for an empty backend
   */
  public void made(KeyGroupRange keyGroups, List<CheckpointHandle> restoreFrom) {
    ownership.made(keyGroups, restoreFrom);
  }

  @Override
  public Optional<Checkpoint> takeOver(String job) {
    SlotIndex slotIndex = indexOf(job);
    Ownership.Owner owner =
        own(job, slotIndex, problem -> checkMayRestore(job, problem, slotIndex));
    Newest newest = newestBelow(owner.takeoverSlot(), owner, slotIndex);
    if (newest.manifest().isEmpty() && newest.skipped().isPresent()) {
      throw nothingSound(job, newest.skipped().get());
    }
    ownership.gaveUp(newest.givenUp());
    ownership.takenOver(
        owner,
        newest.manifest(),
        newest.skipped().isPresent() ? RestoreMode.DETACHED : RestoreMode.REUSE);
    begin(owner, slotIndex);
    LOG.info(
        "Newest checkpoint of job '{}': {}",
        job,
        newest.manifest().map(manifest -> Long.toString(manifest.checkpointId())).orElse("none"));
    return newest.manifest().map(SlotRecord.Manifest::checkpoint);
  }

  @Override
  public void startOver(String job) {
    SlotIndex slotIndex = indexOf(job);
    Ownership.Owner owner = own(job, slotIndex, damage -> {});
    ownership.startedOver(owner);
    giveUpBelow(owner.takeoverSlot(), slotIndex);
    begin(owner, slotIndex);
  }

  /**
   * Nothing is restored of what is there; ids go on above the greatest, and damage is no news.
   * Takeover records stay for ever and are not read: those above the newest manifest are known, and
   * those below are too small to be anything else that matters.
   */
  private void giveUpBelow(long limit, SlotIndex slotIndex) {
    boolean newestFound = false;
    Set<Long> unreadable = new TreeSet<>();
    for (long slot : slotIndex.below(limit).descendingSet()) {
      if (slotIndex.isTakeover(slot) || (newestFound && slotIndex.namesNoBlob(slot))) {
        continue;
      }
      SlotRead read = retrier.call(() -> slotIndex.read(slot));
      if (read instanceof SlotRead.Unreadable damaged) {
        if (damaged.problem().kind() == Kind.CORRUPT) {
          unreadable.add(slot);
        } else if (!newestFound) {
          throw damaged.problem();
        }
      } else if (!newestFound
          && read instanceof SlotRead.Found found
          && found.slot() instanceof SlotRecord.Manifest manifest) {
        newestFound = true;
        ownership.found(manifest);
      }
    }
    ownership.gaveUp(unreadable);
  }

  private SlotIndex indexOf(String job) {
    Arguments.check(job, "job");
    if (job.isBlank() || job.length() > MAX_JOB_LENGTH) {
      throw StateBackendException.invalid(
          "the name of a job must have 1 to "
              + MAX_JOB_LENGTH
              + " characters, '"
              + job
              + "' has "
              + job.strip().length());
    }
    ownership.checkMayTakeOver();
    beforeTakeover.run();
    return new SlotIndex(slots, job);
  }

  private Ownership.Owner own(
      String job, SlotIndex slotIndex, Consumer<StateBackendException> damaged) {
    return new TakeoverProtocol(slots, retrier, execution, random, settings.libraryVersion())
        .run(job, slotIndex, damaged);
  }

  private void begin(Ownership.Owner owner, SlotIndex slotIndex) {
    index.set(slotIndex);
    collector.start(slotIndex);
    ledger.start(owner.incarnation());
    LOG.info(
        "Incarnation {} owns job '{}' in {} from slot {} on",
        owner.incarnation(),
        owner.job(),
        slots.uri(),
        owner.takeoverSlot());
  }

  /**
   * What a search for a checkpoint to restore gave, the last damage that it passed over, and all
   * slots in which it found any.
   */
  private record Newest(
      Optional<SlotRecord.Manifest> manifest,
      Optional<StateBackendException> skipped,
      Set<Long> givenUp) {}

  private Newest newestBelow(long limit, Ownership.Owner owner, SlotIndex slotIndex) {
    Optional<StateBackendException> skipped = Optional.empty();
    Set<Long> givenUp = new TreeSet<>();
    for (long slot : slotIndex.below(limit).descendingSet()) {
      if (slotIndex.isTakeover(slot)) {
        continue;
      }
      SlotRead read = retrier.call(() -> slotIndex.read(slot));
      if (read instanceof SlotRead.Unreadable unreadable) {
        checkMaySkip(unreadable.problem());
        LOG.warn(
            "Falling back to an older checkpoint, sinks may have committed the skipped one: {}",
            unreadable.problem().getMessage());
        skipped = Optional.of(unreadable.problem());
        givenUp.add(slot);
      } else if (read instanceof SlotRead.Found found
          && found.slot() instanceof SlotRecord.Manifest manifest) {
        return new Newest(Optional.of(manifest), skipped, givenUp);
      } else if (read instanceof SlotRead.Missing) {
        checkStillGreatest(owner);
      }
    }
    return new Newest(Optional.empty(), skipped, givenUp);
  }

  /** The newest checkpoint is deleted only by an owner that has stored a newer one. */
  private void checkStillGreatest(Ownership.Owner owner) {
    NavigableMap<Long, BlobInfo> listing = retrier.call(slots::list);
    long greatest = listing.isEmpty() ? 0 : listing.lastKey();
    if (greatest > owner.takeoverSlot()) {
      throw StateBackendException.fenced(
          "job '"
              + owner.job()
              + "' in '"
              + slots.uri()
              + "' was taken over by another process while this one looked for its newest checkpoint: '"
              + SlotNames.of(greatest)
              + "' is the greatest slot now; this process must stop");
    }
  }

  /** A start that cannot succeed leaves the present owner alone. */
  private void checkMayRestore(String job, StateBackendException newest, SlotIndex slotIndex) {
    checkMaySkip(newest);
    for (long slot : slotIndex.below(Long.MAX_VALUE).descendingSet()) {
      if (slotIndex.isTakeover(slot)) {
        continue;
      }
      SlotRead read = slotIndex.read(slot);
      if (read instanceof SlotRead.Unreadable unreadable) {
        checkMaySkip(unreadable.problem());
      } else if (read instanceof SlotRead.Missing
          || (read instanceof SlotRead.Found found
              && found.slot() instanceof SlotRecord.Manifest)) {
        // A missing one was replaced by a newer: the listing is old, and the takeover will notice.
        return;
      }
    }
    throw nothingSound(job, newest);
  }

  private static StateBackendException nothingSound(String job, StateBackendException newest) {
    return StateBackendException.of(
        Kind.CORRUPT,
        "job '"
            + job
            + "' has no checkpoint that can be restored: "
            + newest.getMessage()
            + ", and there is none before it; repair it, or call startOver instead of takeOver to"
            + " begin without state",
        newest);
  }

  private void checkMaySkip(StateBackendException problem) {
    if (problem.kind() != Kind.CORRUPT) {
      throw problem;
    }
    if (!settings.fallback()) {
      throw StateBackendException.of(
          Kind.CORRUPT,
          problem.getMessage()
              + "; to restore the checkpoint before it instead, if there is one, set"
              + " alluvium.restore.fallback=true",
          problem);
    }
  }

  /** The job that is owned; {@code INVALID} before {@link #takeOver}. */
  public String job() {
    return ownership.owner().job();
  }

  @Override
  public Incarnation incarnation() {
    return ownership.owner().incarnation();
  }

  @Override
  public boolean isOlder(Incarnation other) {
    Arguments.check(other, "other");
    Ownership.Owner owner = ownership.owner();
    return !other.equals(owner.incarnation())
        && retrier.call(() -> slotIndex().tookOverBelow(other, owner.takeoverSlot()));
  }

  private SlotIndex slotIndex() {
    return Objects.requireNonNull(index.get(), "set before the job is owned");
  }

  @Override
  public Optional<Checkpoint> latest() {
    return ownership.latest();
  }

  @Override
  public OptionalLong greatestCheckpointId() {
    return ownership.greatestCheckpointId();
  }

  @Override
  public RestoreMode restoreMode() {
    return ownership.restoreMode();
  }

  @Override
  public Optional<Checkpoint> fallbackFrom(Checkpoint damaged) {
    Arguments.check(damaged, "damaged");
    ownership.checkNothingCommitted();
    if (!settings.fallback()) {
      return Optional.empty();
    }
    ownership.damaged(damaged);
    Newest found = newestBelow(damaged.slot(), ownership.owner(), slotIndex());
    Optional<SlotRecord.Manifest> older = found.manifest();
    ownership.gaveUp(found.givenUp());
    older.ifPresent(ownership::fellBackTo);
    LOG.warn(
        "Checkpoint {} is damaged; falling back to {}, sinks may have committed what lies between",
        damaged.id(),
        older.map(manifest -> "checkpoint " + manifest.checkpointId()).orElse("nothing"));
    return older.map(SlotRecord.Manifest::checkpoint);
  }

  @Override
  public Commit commit(long checkpointId, List<CheckpointHandle> handles, byte[] metadata) {
    Arguments.check(metadata, "metadata");
    List<CheckpointHandle> all = Arguments.copy(handles, "handles");
    handleChecks.check(checkpointId, all);
    ownership.latest().ifPresent(latest -> HandleChecks.checkNotEmptied(latest, all));
    long start = execution.nanoTime();
    Optional<Ownership.Pending> begun =
        ownership.beginCommit(
            checkpointId, all, metadata, Instant.ofEpochMilli(execution.currentTimeMillis()));
    if (begun.isEmpty()) {
      return new Commit(ownership.latest().orElseThrow(), false, 0);
    }
    Ownership.Pending pending = begun.get();
    Checkpoint checkpoint = store(pending);
    commitMicros.record((execution.nanoTime() - start) / 1_000);
    manifestBytes.record(pending.bytes().length);
    collector.afterCommit();
    return new Commit(checkpoint, true, pending.bytes().length);
  }

  private Checkpoint store(Ownership.Pending pending) {
    pin(pending);
    Optional<SlotRead> taken = put(pending);
    if (taken.isPresent()) {
      throw ownership.fenced(fencedMessage(pending.manifest(), taken.get()));
    }
    Checkpoint checkpoint = ownership.stored(pending);
    ledger.unpin(pending.blobs());
    return checkpoint;
  }

  private void pin(Ownership.Pending pending) {
    boolean pinned = false;
    try {
      ledger.pin(pending.blobs());
      pinned = true;
    } finally {
      if (!pinned) {
        ownership.withdrawn();
      }
    }
  }

  /** However it ends, an error included, the same checkpoint may be committed again. */
  private Optional<SlotRead> put(Ownership.Pending pending) {
    long slot = pending.manifest().header().slot();
    boolean answered = false;
    try {
      Optional<SlotRead> taken = retrier.call(() -> slots.put(slot, pending.bytes()));
      answered = true;
      return taken;
    } catch (StateBackendException e) {
      throw unknown(pending.manifest(), e);
    } finally {
      if (!answered) {
        ownership.unknown();
      }
    }
  }

  private StateBackendException unknown(SlotRecord.Manifest manifest, StateBackendException e) {
    return StateBackendException.of(
        e.kind(),
        "it is unknown whether checkpoint "
            + manifest.checkpointId()
            + " of job '"
            + manifest.header().job()
            + "' was stored in '"
            + SlotNames.of(manifest.header().slot())
            + "' ("
            + e.getMessage()
            + "); commit the same checkpoint again, or stop without cleaning up and start again",
        e);
  }

  private String fencedMessage(SlotRecord.Manifest manifest, SlotRead found) {
    String by =
        found instanceof SlotRead.Found record
            ? "incarnation "
                + record.slot().header().writer()
                + " wrote it at "
                + record.slot().header().createdAt()
            : "it is not of this process";
    return "job '"
        + manifest.header().job()
        + "' in '"
        + slots.uri()
        + "' was taken over by another process: '"
        + SlotNames.of(manifest.header().slot())
        + "' is taken, "
        + by
        + "; this process must stop, leave everything stored alone, and may be started again to"
        + " take over";
  }

  @Override
  public void collectGarbage() {
    ownership.checkNothingUnknown();
    collector.collectNow();
  }

  /** Names and slots in memory, for tests. */
  int remembered() {
    return ledger.size() + ownership.size();
  }

  /** Ends the ownership in this process; stores and deletes nothing. Idempotent. */
  @Override
  public void close() {
    ownership.close();
  }
}
