package io.alluvium.dstl;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Execution;
import io.alluvium.spi.RetryPolicy;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One segment on its way into the store, until it is there. Its fields are guarded by the lock of
 * the {@link Uploader}.
 */
final class SegmentUpload {

  /*
   * 1. Name and bytes are fixed before the first attempt and are the same in each: an attempt whose outcome is unknown
   *    (it failed, or it has not returned in time) is simply made again.
   * 2. An attempt that has not returned in time goes on; at most two run at once, so that a store that hangs does not
   *    take every upload thread. The first that succeeds decides.
   * 3. Each failed attempt schedules exactly one next, for ever, until one succeeds or nobody needs any of the blocks.
   * 4. The buffers are released when the segment is stored, or given up, and no attempt runs any more (L6a).
   * No call of the store or of Execution is made under the lock: each may be a scheduling point of a simulation.
   */
  private static final int MAX_RUNNING = 2;

  private static final Duration MAX_WAIT = Duration.ofSeconds(10);

  private static final String NO_ANSWER = "the store has not answered in time";

  private static final class Attempt {
    private boolean timedOut;
    private boolean returned;
  }

  private final Uploader uploader;
  private final Object lock;
  private final int blockCount;
  private List<Block> blocks;

  private @Nullable BlobName name;
  private List<ByteBuffer> content = List.of();
  private List<BlockRef> refs = List.of();
  private long sizeBytes;

  private int failures;
  private int running;
  private boolean stored;
  private boolean abandoned;
  private boolean settled;

  private boolean awaitedInVain;

  /** Done when it is settled. */
  private final CompletableFuture<Boolean> end = new CompletableFuture<>();

  /** Blocks that no changelog has trimmed. */
  private int untrimmed;

  SegmentUpload(Uploader uploader, List<Block> blocks) {
    this.uploader = uploader;
    this.lock = uploader.lock();
    this.blocks = blocks;
    this.blockCount = blocks.size();
    this.untrimmed = blocks.size();
    for (Block block : blocks) {
      block.state = Block.State.UPLOADING;
      block.upload = this;
      block.ledger.uploading(this);
    }
  }

  /** Its name; null before the first attempt. Under the lock. */
  @Nullable BlobName name() {
    return name;
  }

  /** Whether it holds a block of a changelog that overlaps the range. Under the lock. */
  boolean holds(BlockLedger ledger, long from, long to) {
    for (Block block : blocks) {
      if (block.ledger == ledger && block.overlaps(from, to)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Whether nobody needs another attempt, but attempts are running that may still store it. Under
   * the lock.
   */
  boolean isOnlyUnanswered() {
    boolean unneeded =
        stored || blocks.stream().allMatch(block -> block.state == Block.State.DROPPED);
    return unneeded && running > 0 && !awaitedInVain;
  }

  /**
   * Waits until the store has answered every attempt of these. A store that never answers must not
   * keep a process from ending: the wait is bounded, and made once for each. What appears after it
   * is collected by the next owner.
   */
  static void awaitAnswers(List<SegmentUpload> uploads, Execution execution) {
    if (uploads.isEmpty()) {
      return;
    }
    CompletableFuture<Boolean> answered =
        CompletableFuture.allOf(
                uploads.stream().map(upload -> upload.end).toArray(CompletableFuture<?>[]::new))
            .thenApply(done -> true);
    CompletableFuture<Boolean> over = new CompletableFuture<>();
    Execution.Scheduled timer;
    try {
      timer = execution.schedule(MAX_WAIT, () -> over.complete(false));
    } catch (RuntimeException | Error e) {
      // Without a timer there is no bound, so nothing is waited for.
      return;
    }
    execution.await(answered.applyToEither(over, inTime -> inTime));
    timer.cancel();
    if (!answered.isDone()) {
      for (SegmentUpload upload : uploads) {
        synchronized (upload.lock) {
          upload.awaitedInVain = true;
        }
      }
    }
  }

  /** Has one attempt made. */
  void start() {
    Execution.handOff(uploader.execution().uploads(), this::attempt, this::refused);
  }

  /** There was no thread for an attempt: it failed. */
  private void refused(StateBackendException refusal) {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      if (!stored && !abandoned) {
        failed(String.valueOf(refusal.getMessage()), refusal, after);
      }
    }
    uploader.run(after);
  }

  /** Makes one attempt, on an upload thread. */
  private void attempt() {
    Attempt attempt = new Attempt();
    List<Runnable> after = new ArrayList<>();
    int failuresBefore;
    synchronized (lock) {
      if (stored || giveUp(after)) {
        failuresBefore = -1;
      } else {
        running++;
        failuresBefore = failures;
      }
    }
    uploader.run(after);
    if (failuresBefore >= 0) {
      Throwable failure = put(attempt, failuresBefore);
      returned(attempt, failure);
    }
  }

  private @Nullable Throwable put(Attempt attempt, int failuresBefore) {
    Execution execution = uploader.execution();
    long start = execution.nanoTime();
    Execution.@Nullable Scheduled timer = null;
    try {
      BlobName target = prepare();
      Optional<Duration> timeout = uploader.settings().retry().timeout(failuresBefore, sizeBytes);
      if (timeout.isPresent()) {
        timer =
            execution.schedule(
                timeout.get(),
                // Telling those who wait may take long, and the upload threads may all be stuck.
                () -> tell(() -> timedOut(attempt)));
      }
      uploader.store().put(target.toString(), content);
      uploader.metrics().uploaded(blockCount, sizeBytes, execution.nanoTime() - start);
      return null;
    } catch (RuntimeException | Error e) {
      return e;
    } finally {
      if (timer != null) {
        timer.cancel();
      }
    }
  }

  /** Runs it on a thread that may complete futures, as soon as there is one. */
  private void tell(Runnable failure) {
    Execution.handOff(
        uploader.execution().downloads(),
        failure,
        refusal -> {
          boolean unused =
              uploader
                  .delays()
                  .run(
                      uploader.settings().retry().pause(1, uploader.random()), () -> tell(failure));
        });
  }

  /** Fixes name and bytes; later attempts find them fixed. */
  private BlobName prepare() {
    List<Block> parts;
    BlobName fresh;
    synchronized (lock) {
      // Under the lock of the live set: a collection finds the name in it as soon as it was given.
      fresh = name == null ? uploader.names().next(BlobName.Kind.LOG) : name;
      name = fresh;
      if (!content.isEmpty()) {
        return fresh;
      }
      parts = blocks;
    }
    List<ByteBuffer> bytes = new ArrayList<>(parts.size() + 2);
    List<SegmentFormat.Entry> entries = new ArrayList<>(parts.size());
    List<BlockRef> places = new ArrayList<>(parts.size());
    bytes.add(ByteBuffer.wrap(SegmentFormat.header(uploader.names().incarnation())));
    long offset = SegmentFormat.HEADER_LENGTH;
    for (Block block : parts) {
      BlockEncoder.Encoded encoded = encoded(block);
      bytes.add(ByteBuffer.wrap(encoded.buffer().array(), 0, encoded.length()));
      SegmentFormat.Entry entry =
          new SegmentFormat.Entry(
              block.ledger.id(), block.fromSqn, block.toSqn, offset, encoded.length());
      entries.add(entry);
      places.add(entry.ref(fresh));
      offset += encoded.length();
    }
    byte[] end = SegmentFormat.footerAndTail(entries, offset);
    bytes.add(ByteBuffer.wrap(end));
    synchronized (lock) {
      content = List.copyOf(bytes);
      refs = List.copyOf(places);
      sizeBytes = offset + end.length;
    }
    return fresh;
  }

  private static BlockEncoder.Encoded encoded(Block block) {
    if (block.encoded == null) {
      throw StateBackendException.internal("a block is uploaded before it is encoded");
    }
    return block.encoded;
  }

  private void returned(Attempt attempt, @Nullable Throwable failure) {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      attempt.returned = true;
      running--;
      if (failure == null) {
        succeeded(after);
      } else if (!attempt.timedOut && !stored) {
        failed(String.valueOf(failure.getMessage()), failure, after);
      } else if (!stored) {
        boolean unused = giveUp(after);
      }
      settle(after);
    }
    uploader.run(after);
  }

  private void timedOut(Attempt attempt) {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      if (attempt.returned || stored || abandoned) {
        return;
      }
      attempt.timedOut = true;
      failed(NO_ANSWER, null, after);
    }
    uploader.run(after);
  }

  /** Under the lock. */
  private void succeeded(List<Runnable> after) {
    if (stored || abandoned) {
      return;
    }
    stored = true;
    after.add(() -> uploader.outage().stored());
    Set<BlockLedger> ledgers = new LinkedHashSet<>();
    for (int i = 0; i < blocks.size(); i++) {
      Block block = blocks.get(i);
      if (block.state == Block.State.UPLOADING) {
        block.ledger.stored(block, refs.get(i));
        ledgers.add(block.ledger);
      }
    }
    for (BlockLedger ledger : ledgers) {
      ledger.tellWaiters(after);
    }
  }

  /** Under the lock. */
  private void failed(String why, @Nullable Throwable cause, List<Runnable> after) {
    failures++;
    int count = failures;
    RetryPolicy retry = uploader.settings().retry();
    String message =
        "cannot store "
            + (name == null ? "a segment of the changelog" : "'" + name + "'")
            + " in '"
            + uploader.storeUri()
            + "' after "
            + count
            + (count == 1 ? " attempt: " : " attempts: ")
            + why
            + "; its changes are kept and stored as soon as the store answers";
    StateBackendException failure =
        cause == null
            ? StateBackendException.of(StateBackendException.Kind.UNAVAILABLE, message)
            : StateBackendException.unavailable(message, cause);
    Set<BlockLedger> ledgers = new LinkedHashSet<>();
    for (Block block : blocks) {
      ledgers.add(block.ledger);
    }
    if (giveUp(after)) {
      return;
    }
    for (BlockLedger ledger : ledgers) {
      ledger.failed(this, retry.attemptsOfAWaiter(), failure, after);
    }
    uploader.storeFailed(message, after);
    after.add(() -> uploader.metrics().uploadFailed(cause));
    after.add(() -> uploader.outage().refused(count, message));
    after.add(
        () -> {
          if (!uploader
              .delays()
              .run(retry.pause(count, uploader.random()), this::nextAttemptIsDue)) {
            failAllWaiters(failure);
          }
        });
  }

  /** Nobody knows when the next attempt is made. */
  private void failAllWaiters(StateBackendException failure) {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      for (Block block : blocks) {
        block.ledger.failed(this, 1, failure, after);
      }
    }
    uploader.run(after);
  }

  private void nextAttemptIsDue() {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      if (stored || giveUp(after)) {
        // Nothing is left to do.
      } else if (running >= MAX_RUNNING) {
        after.add(() -> tell(this::stuck));
      } else {
        after.add(this::start);
      }
    }
    uploader.run(after);
  }

  /** As many attempts as may run have not returned: the next one counts as failed unmade. */
  private void stuck() {
    List<Runnable> after = new ArrayList<>();
    synchronized (lock) {
      if (!stored && !abandoned) {
        failed(NO_ANSWER, null, after);
      }
    }
    uploader.run(after);
  }

  /** Gives up when nobody needs any of the blocks. Under the lock. */
  private boolean giveUp(List<Runnable> after) {
    if (abandoned) {
      return true;
    }
    for (Block block : blocks) {
      if (block.state != Block.State.DROPPED) {
        return false;
      }
    }
    abandoned = true;
    settle(after);
    return true;
  }

  /** Under the lock. */
  private void settle(List<Runnable> after) {
    if (settled || running > 0 || !(stored || abandoned)) {
      return;
    }
    settled = true;
    after.add(() -> end.complete(true));
    for (Block block : blocks) {
      uploader.releaseEncoded(block, after);
      block.ledger.settled(this);
    }
    blocks = List.of();
    content = List.of();
    refs = List.of();
    tellIfUnreferenced(after);
  }

  /** A changelog will not ask for one of its blocks any more. Under the lock. */
  void trimmed(List<Runnable> after) {
    untrimmed--;
    tellIfUnreferenced(after);
  }

  private void tellIfUnreferenced(List<Runnable> after) {
    BlobName unreferenced = name;
    if (settled && stored && untrimmed == 0 && unreferenced != null) {
      after.add(() -> uploader.unreferenced(unreferenced));
    }
  }
}
