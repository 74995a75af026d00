package io.alluvium.dstl;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.spi.Execution;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Takes the sealed blocks of all changelogs of a process, encodes them in the background, stores
 * them in segments, and bounds the memory they hold meanwhile. Thread-safe; guarded by {@code
 * lock}.
 */
final class Uploader {

  /*
   * One lock guards the bookkeeping of the whole process: blocks, queue, waiters, uploads. Under it nothing is computed,
   * awaited or called back: whatever must be done outside (running tasks, completing futures, timers) is collected in a
   * list of actions that the thread runs after it has left the lock. Each is run, whatever the others throw: futures of
   * one changelog must not depend on another's.
   *
   * A hand-off that is refused, because no thread can be started, fails what it was for as an attempt that failed does:
   * who waits is told, and it is tried again after a pause. So does any error in the background.
   *
   * Memory in flight = arrays of sealed blocks, from the sealing until the segment is stored and nobody reads them any
   * more. A task waits before the change after the one that filled a block, never in a checkpoint, and never with a
   * change half applied. It waits only for what is sealed, and first makes everything sealed go out, so that it cannot
   * wait for itself.
   */
  private final DstlSettings settings;
  private final Execution execution;
  private final BlobStore store;
  private final String storeUri;
  private final BlobNames names;
  private final RandomGenerator random;
  private final DstlMetrics metrics;
  private final Consumer<BlobName> unreferenced;
  private final BufferPool pool = new BufferPool();
  private final Delays delays;
  private final Outage outage = new Outage();
  private final Object lock = new Object();

  @GuardedBy("lock")
  private final GroupCommit groupCommit;

  @GuardedBy("lock")
  private final List<BlockLedger> ledgers = new ArrayList<>();

  @GuardedBy("lock")
  private final ArrayDeque<BlockEncoder> idleEncoders = new ArrayDeque<>();

  @GuardedBy("lock")
  private List<CompletableFuture<Void>> waitingForRoom = new ArrayList<>();

  @GuardedBy("lock")
  private final StallWarnings stalls;

  @GuardedBy("lock")
  private boolean closed;

  /** Written under the lock. */
  private volatile long inFlightBytes;

  /**
   * @param store where segments go
   * @param unreferenced told of each segment whose blocks were all trimmed
   */
  Uploader(
      ChangelogStorageProvider.Context context, BlobStore store, Consumer<BlobName> unreferenced) {
    this.settings = DstlSettings.of(context.configuration());
    this.execution = context.execution();
    this.store = store;
    this.storeUri = store.uri();
    this.names = context.names();
    this.random = context.random();
    this.unreferenced = unreferenced;
    this.metrics = new DstlMetrics(context.metrics(), () -> inFlightBytes);
    this.groupCommit = new GroupCommit(settings);
    this.stalls = new StallWarnings(settings.maxInFlightBytes());
    this.delays = new Delays(execution, this::wakeAllWaitingForRoom);
  }

  Object lock() {
    return lock;
  }

  DstlSettings settings() {
    return settings;
  }

  Execution execution() {
    return execution;
  }

  BlobStore store() {
    return store;
  }

  String storeUri() {
    return storeUri;
  }

  BlobNames names() {
    return names;
  }

  Delays delays() {
    return delays;
  }

  Outage outage() {
    return outage;
  }

  RandomGenerator random() {
    return random;
  }

  DstlMetrics metrics() {
    return metrics;
  }

  BufferPool pool() {
    return pool;
  }

  long inFlightBytes() {
    return inFlightBytes;
  }

  void unreferenced(BlobName segment) {
    unreferenced.accept(segment);
  }

  void open(BlockLedger ledger) {
    synchronized (lock) {
      if (closed) {
        throw StateBackendException.closed(
            "this state backend is closed, and its changelog with it");
      }
      ledgers.add(ledger);
      groupCommit.opened(ledger);
    }
  }

  /** Takes over a sealed block. */
  void seal(Block block) {
    delays.catchUp();
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      accept(block, after);
    }
    run(after);
  }

  /**
   * Takes over the last sealed block, if there is one, and asks for {@code [from, to)} to be
   * stored.
   */
  CompletableFuture<List<BlockRef>> persist(
      BlockLedger ledger, @Nullable Block block, long from, long to) {
    delays.catchUp();
    List<Runnable> after = new ArrayList<>();
    try {
      return persist(ledger, block, from, to, after);
    } finally {
      run(after);
    }
  }

  private CompletableFuture<List<BlockRef>> persist(
      BlockLedger ledger, @Nullable Block block, long from, long to, List<Runnable> after) {
    synchronized (lock) {
      if (block != null) {
        accept(block, after);
      }
      checkOpen(ledger);
      StateBackendException torn = checkSealed(ledger, to, after);
      if (torn != null) {
        return CompletableFuture.failedFuture(torn);
      }
      if (from < ledger.trimPoint()) {
        throw StateBackendException.invalid(
            "changelog "
                + ledger.id()
                + " was trimmed to "
                + ledger.trimPoint()
                + ", changes from "
                + from
                + " on cannot be asked for");
      }
      CompletableFuture<List<BlockRef>> future = ledger.persist(from, to);
      groupCommit.asked(ledger, ledger.lastTicket());
      advance(after);
      return future;
    }
  }

  private static void checkOpen(BlockLedger ledger) {
    if (ledger.isClosed()) {
      throw StateBackendException.closed(ledger.backend() + " is closed");
    }
  }

  @GuardedBy("lock")
  private void accept(Block block, List<Runnable> after) {
    BlockLedger ledger = block.ledger;
    if (ledger.isClosed()) {
      dropRaw(block);
      checkOpen(ledger);
    }
    if (ledger.torn() == null) {
      try {
        ledger.add(block);
      } catch (TornLogException e) {
        ledger.tear(e, after);
      }
    }
    if (ledger.torn() != null) {
      // Nothing above what is torn can become durable.
      dropRaw(block);
      return;
    }
    addInFlight(raw(block).capacity(), after);
    enqueue(block, after);
  }

  /** Under the lock. */
  private static @Nullable StateBackendException checkSealed(
      BlockLedger ledger, long to, List<Runnable> after) {
    if (ledger.torn() == null) {
      try {
        ledger.checkSealed(to);
      } catch (TornLogException e) {
        ledger.tear(e, after);
      }
    }
    return ledger.torn();
  }

  /** From now on nothing of a changelog can be stored; says why. */
  StateBackendException tear(BlockLedger ledger, TornLogException found) {
    List<Runnable> after = new ArrayList<>();
    StateBackendException torn;
    synchronized (lock) {
      ledger.tear(found, after);
      torn = Objects.requireNonNull(ledger.torn());
    }
    run(after);
    return torn;
  }

  @GuardedBy("lock")
  private void enqueue(Block block, List<Runnable> after) {
    groupCommit.add(block);
    block.ledger.queued(block);
    after.add(
        () ->
            Execution.handOff(
                execution.uploads(), () -> encode(block), refusal -> notEncoded(block, refusal)));
    advance(after);
  }

  /** Starts what the group commit lets go. */
  @GuardedBy("lock")
  private void advance(List<Runnable> after) {
    for (List<Block> blocks : groupCommit.takeReady()) {
      SegmentUpload upload = new SegmentUpload(this, blocks);
      after.add(upload::start);
    }
    if (groupCommit.startsTimer()) {
      long round = groupCommit.round();
      after.add(() -> startDelay(round));
    }
  }

  private void startDelay(long round) {
    if (!delays.run(settings.persistDelay(), () -> delayIsOver(round))) {
      delayIsOver(round);
    }
  }

  private void delayIsOver(long round) {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      groupCommit.expired(round);
      advance(after);
    }
    run(after);
  }

  private void encode(Block block) {
    BlockEncoder.Encoded encoded;
    BlockEncoder encoder;
    try {
      execution.giveWay();
      encoder = startEncoding(block);
      if (encoder == null) {
        return;
      }
      encoded =
          encoder.encode(
              new BlockEncoder.Source(
                  block.ledger.id(),
                  block.ledger.keyGroups(),
                  block.fromSqn,
                  (int) (block.toSqn - block.fromSqn),
                  raw(block).array(),
                  block.rawLength),
              pool);
    } catch (TornLogException e) {
      torn(block, e);
      return;
    } catch (RuntimeException | Error e) {
      notEncoded(
          block,
          StateBackendException.of(
              StateBackendException.Kind.INTERNAL, "encoding ended with " + e, e));
      return;
    }
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      idleEncoders.addLast(encoder);
      encoded(block, encoded, after);
      advance(after);
    }
    run(after);
  }

  private void notEncoded(Block block, StateBackendException cause) {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      encodingFailed(block, cause, after);
      advance(after);
    }
    run(after);
  }

  /** It is not tried again: it would be as torn. */
  private void torn(Block block, TornLogException found) {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      if (block.state != Block.State.DROPPED) {
        groupCommit.remove(block);
        block.state = Block.State.DROPPED;
      }
      block.ledger.tear(found, after);
      releaseRaw(block, after);
      advance(after);
    }
    run(after);
  }

  private @Nullable BlockEncoder startEncoding(Block block) {
    List<Runnable> after = new ArrayList<>();
    BlockEncoder encoder = null;
    synchronized (lock) {
      if (block.state == Block.State.DROPPED) {
        releaseRaw(block, after);
      } else {
        encoder = idleEncoders.pollLast();
        if (encoder == null) {
          encoder = new BlockEncoder(settings.codec());
        }
      }
    }
    run(after);
    return encoder;
  }

  @GuardedBy("lock")
  private void encoded(Block block, BlockEncoder.Encoded encoded, List<Runnable> after) {
    block.encoded = encoded;
    addInFlight(encoded.buffer().capacity(), after);
    releaseRaw(block, after);
    if (block.state == Block.State.DROPPED) {
      releaseEncoded(block, after);
    } else {
      block.state = Block.State.QUEUED;
    }
  }

  /** No thread, no memory, a defect: those who wait are told, the block is kept and tried again. */
  @GuardedBy("lock")
  private void encodingFailed(Block block, StateBackendException cause, List<Runnable> after) {
    if (block.state == Block.State.DROPPED) {
      if (block.raw != null) {
        releaseRaw(block, after);
      }
      return;
    }
    groupCommit.remove(block);
    int failures = ++block.encodingFailures;
    block.ledger.failed(
        block,
        StateBackendException.of(
            cause.kind(),
            "changes ["
                + block.fromSqn
                + ", "
                + block.toSqn
                + ") cannot be encoded; they are kept and tried again: "
                + cause.getMessage(),
            cause),
        after);
    after.add(
        () -> {
          boolean unused =
              delays.run(settings.retry().pause(failures, random), () -> encodeAgain(block));
        });
  }

  private void encodeAgain(Block block) {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      if (block.state == Block.State.DROPPED) {
        releaseRaw(block, after);
      } else {
        enqueue(block, after);
        groupCommit.flush();
      }
    }
    run(after);
  }

  boolean lacksRoom() {
    return inFlightBytes >= settings.maxInFlightBytes();
  }

  /** Waits on the task thread until the bytes in flight are below their bound. */
  void awaitRoom(BlockLedger ledger) {
    if (!lacksRoom()) {
      return;
    }
    long start = execution.nanoTime();
    synchronized (lock) {
      stalls.began(start);
    }
    try {
      waitForRoom(ledger);
    } finally {
      long end = execution.nanoTime();
      List<Runnable> after = new ArrayList<>();
      synchronized (lock) {
        stalls.ended(end, after);
      }
      run(after);
      metrics.backpressured(end - start);
    }
  }

  private void waitForRoom(BlockLedger ledger) {
    while (true) {
      delays.catchUp();
      CompletableFuture<Void> room = new CompletableFuture<>();
      List<Runnable> after = new ArrayList<>();
      synchronized (lock) {
        // With neither threads nor timers nobody makes room: the next block tries again.
        if (!lacksRoom() || ledger.isClosed() || delays.isBehind()) {
          break;
        }
        waitingForRoom.add(room);
        groupCommit.flush();
        advance(after);
      }
      run(after);
      await(room);
    }
  }

  private void await(CompletableFuture<Void> room) {
    try {
      execution.await(room);
    } catch (StateBackendException e) {
      synchronized (lock) {
        waitingForRoom.removeIf(waiting -> waiting == room);
      }
      throw StateBackendException.of(
          e.kind(),
          "a change was not applied, because its wait for the upload of older changes ended: "
              + e.getMessage()
              + "; "
              + inFlightBytes
              + " bytes of changes are not stored yet, of at most "
              + settings.maxInFlightBytes()
              + " (dstl.dfs.upload.max-in-flight): repeat the change, or close the backend",
          e);
    }
  }

  /** An attempt to store a segment failed. Under the lock. */
  @SuppressWarnings("GuardedBy") // the lock is this one, called by the upload
  void storeFailed(String why, List<Runnable> after) {
    stalls.failed(execution.nanoTime(), inFlightBytes, why, after);
  }

  @GuardedBy("lock")
  private void addInFlight(long bytes, List<Runnable> after) {
    long now = inFlightBytes + bytes;
    inFlightBytes = now;
    if (now < settings.maxInFlightBytes()) {
      wakeWaitingForRoom(after);
    }
  }

  private void wakeAllWaitingForRoom() {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      wakeWaitingForRoom(after);
    }
    run(after);
  }

  @GuardedBy("lock")
  private void wakeWaitingForRoom(List<Runnable> after) {
    if (!waitingForRoom.isEmpty()) {
      List<CompletableFuture<Void>> woken = waitingForRoom;
      waitingForRoom = new ArrayList<>();
      after.add(() -> woken.forEach(room -> room.complete(null)));
    }
  }

  long durableUpTo(BlockLedger ledger) {
    synchronized (lock) {
      return ledger.durableUpTo();
    }
  }

  void trim(BlockLedger ledger, long sqn) {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      for (Block block : ledger.trim(sqn, after)) {
        SegmentUpload upload = block.upload;
        if (upload != null) {
          upload.trimmed(after);
        }
        drop(block, after);
      }
    }
    run(after);
  }

  /**
   * Drops what is not stored yet.
   *
   * @return segments that nobody needs to be stored any more and that may still appear
   */
  List<SegmentUpload> close(BlockLedger ledger) {
    List<Runnable> after = new ArrayList<>();
    List<SegmentUpload> unanswered;
    synchronized (lock) {
      close(ledger, after);
      advance(after);
      unanswered = ledger.uploads().stream().filter(SegmentUpload::isOnlyUnanswered).toList();
    }
    run(after);
    // Nobody may use the log again; what was dropped is let go of.
    delays.catchUp();
    return unanswered;
  }

  @GuardedBy("lock")
  private void close(BlockLedger ledger, List<Runnable> after) {
    if (ledger.isClosed()) {
      return;
    }
    StateBackendException reason =
        StateBackendException.closed(
            ledger.backend() + " was closed before what it logged was stored");
    for (Block block : ledger.close(reason, after)) {
      drop(block, after);
    }
    ledgers.remove(ledger);
    groupCommit.closed(ledger);
    wakeWaitingForRoom(after);
  }

  /** Lets go of a block that need not be stored any more; one that is stored stays so. */
  @GuardedBy("lock")
  private void drop(Block block, List<Runnable> after) {
    switch (block.state) {
      case ENCODING -> {
        groupCommit.remove(block);
        block.state = Block.State.DROPPED;
      }
      case QUEUED -> {
        groupCommit.remove(block);
        block.state = Block.State.DROPPED;
        releaseEncoded(block, after);
      }
      case UPLOADING -> block.state = Block.State.DROPPED;
      case STORED, DROPPED -> {}
    }
  }

  void close() {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      closed = true;
      for (BlockLedger ledger : List.copyOf(ledgers)) {
        close(ledger, after);
      }
    }
    run(after);
  }

  @GuardedBy("lock")
  private void releaseRaw(Block block, List<Runnable> after) {
    addInFlight(-raw(block).capacity(), after);
    dropRaw(block);
  }

  @GuardedBy("lock")
  private void dropRaw(Block block) {
    pool.release(raw(block));
    block.raw = null;
  }

  /** Nobody reads the encoded form of a block any more. Under the lock. */
  @SuppressWarnings("GuardedBy") // the lock is this one, called by the block's upload
  void releaseEncoded(Block block, List<Runnable> after) {
    BlockEncoder.Encoded encoded = block.encoded;
    if (encoded != null) {
      addInFlight(-encoded.buffer().capacity(), after);
      pool.release(encoded.buffer());
      block.encoded = null;
    }
  }

  private static BufferPool.Buffer raw(Block block) {
    if (block.raw == null) {
      throw StateBackendException.internal("the raw form of a sealed block is gone");
    }
    return block.raw;
  }

  /** Runs what had to wait until the lock was left: all of it; then throws the first failure. */
  void run(List<Runnable> actions) {
    Throwable first = null;
    for (Runnable action : actions) {
      try {
        action.run();
      } catch (RuntimeException | Error e) {
        if (first == null) {
          first = e;
        } else if (first != e) {
          first.addSuppressed(e);
        }
      }
    }
    if (first instanceof Error error) {
      throw error;
    } else if (first instanceof RuntimeException exception) {
      throw exception;
    }
  }
}
