package io.alluvium.cli.runner;

import io.alluvium.KeyGroupRange;
import io.alluvium.KeyGroups;
import io.alluvium.cli.input.InputFile;
import io.alluvium.cli.input.JobException;
import io.alluvium.cli.input.Position;
import io.alluvium.cli.input.RecordChunk;
import io.alluvium.cli.input.RecordFormat;
import io.alluvium.cli.input.Split;
import io.alluvium.cli.job.BadRecordException;
import io.alluvium.cli.job.Element;
import io.alluvium.cli.job.Job;
import io.alluvium.cli.job.RecordParser;
import io.alluvium.serializer.Serializers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Reads its splits in turns, a chunk at a time, and sends their elements to the subtasks that own
 * the keys. Between two records it may send the barrier of a checkpoint; its positions then say
 * exactly what lies before the barrier. Confined to its own thread.
 */
final class SourceTask implements Runnable {

  private static final int BATCH_ELEMENTS = 256;
  private static final int BATCH_CHARS = 64 << 10;

  /** How long a wait goes on before the requests of the coordinator are looked at again. */
  private static final long MAX_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** Waits shorter than this are not worth it: the schedule makes up for them. */
  private static final long MIN_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /**
   * What all sources share. Immutable.
   *
   * @param pace empty when records are read as fast as they are taken
   */
  record Shared(
      Job job,
      List<InputFile> files,
      List<Split> splits,
      int maxParallelism,
      List<Inbox> inboxes,
      JobControl control,
      Optional<Pace> pace,
      BadRecords badRecords) {}

  /** A split and how far it was read. */
  private static final class Progress {
    final int index;
    final Split split;
    final RecordParser parser;
    long offset;
    long line;
    long maxTimeMillis;

    Progress(int index, Split split, RecordParser parser, Position position) {
      this.index = index;
      this.split = split;
      this.parser = parser;
      this.offset = position.offset();
      this.line = position.line();
      this.maxTimeMillis = position.maxTimeMillis();
    }

    boolean finished() {
      return offset == split.end();
    }

    Position position() {
      return new Position(offset, line, maxTimeMillis);
    }
  }

  private final int index;
  private final Shared shared;
  private final List<Progress> mine = new ArrayList<>();
  private final RecordChunk chunk;
  private final KeyGroups<String> keyGroups;
  private final List<List<Element>> pending = new ArrayList<>();
  private final CompletableFuture<Void> exhausted = new CompletableFuture<>();
  private final long[] pendingChars;
  private final long[] sentWatermarks;
  private long watermark;
  private long maxTimeOfRecord;
  private long badRecords;
  private long lastBarrier;
  private int turn;

  /**
   * A source that starts where a checkpoint, or the first start, left off.
   *
   * @param index of this source; it reads every split whose index leaves this remainder
   * @param positions one per split of the job
   */
  SourceTask(int index, int sourceCount, Shared shared, List<Position> positions) {
    this.index = index;
    this.shared = shared;
    this.chunk = new RecordChunk(shared.job().format());
    this.keyGroups = new KeyGroups<>(Serializers.string(), shared.maxParallelism());
    this.pendingChars = new long[shared.inboxes().size()];
    this.sentWatermarks = new long[shared.inboxes().size()];
    Map<Integer, RecordParser> parsers = new HashMap<>();
    for (int i = index; i < shared.splits().size(); i += sourceCount) {
      Split split = shared.splits().get(i);
      RecordParser parser =
          parsers.computeIfAbsent(
              split.file(), file -> shared.job().parserOf(shared.files().get(file)));
      mine.add(new Progress(i, split, parser, positions.get(i)));
    }
    for (int i = 0; i < shared.inboxes().size(); i++) {
      pending.add(new ArrayList<>());
      sentWatermarks[i] = Long.MIN_VALUE;
    }
    updateWatermark();
  }

  /** Done when every split was read to its end. */
  CompletableFuture<Void> exhausted() {
    return exhausted;
  }

  @Override
  public void run() {
    try {
      while (!shared.control().stopped()) {
        sendBarrierIfRequested();
        Optional<Progress> next = nextSplit();
        if (next.isPresent()) {
          readChunk(next.get());
          flushAll();
        } else {
          flushAll();
          exhausted.complete(null);
          LockSupport.parkNanos(MAX_WAIT_NANOS);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error e) {
      shared.control().fail(e);
    }
  }

  private Optional<Progress> nextSplit() {
    for (int i = 0; i < mine.size(); i++) {
      Progress candidate = mine.get((turn + i) % mine.size());
      if (!candidate.finished()) {
        turn = (turn + i + 1) % mine.size();
        return Optional.of(candidate);
      }
    }
    return Optional.empty();
  }

  private void readChunk(Progress at) throws InterruptedException {
    InputFile file = shared.files().get(at.split.file());
    chunk.load(file, at.offset, at.split.end(), at.line);
    while (chunk.next() && !shared.control().stopped()) {
      if (shared.pace().isPresent()) {
        waitFor(shared.pace().get());
        if (shared.control().stopped()) {
          return;
        }
      }
      sendBarrierIfRequested();
      maxTimeOfRecord = Position.NO_TIME;
      // A blank line is no row.
      if (chunk.end() > chunk.start() || shared.job().format() == RecordFormat.LINES) {
        parse(at, file);
        shared.control().read(chunk.nextOffset() - at.offset);
      }
      at.offset = chunk.nextOffset();
      at.line = chunk.nextLine();
      boolean moved = maxTimeOfRecord > at.maxTimeMillis;
      at.maxTimeMillis = Math.max(at.maxTimeMillis, maxTimeOfRecord);
      if (moved || at.finished()) {
        updateWatermark();
      }
    }
  }

  private void parse(Progress at, InputFile file) throws InterruptedException {
    try {
      at.parser.parse(chunk.buffer(), chunk.start(), chunk.end(), this::add);
    } catch (BadRecordException e) {
      if (shared.badRecords() == BadRecords.FAIL) {
        throw new JobException(
            "the row at line "
                + chunk.line()
                + " of '"
                + file.path()
                + "' "
                + e.getMessage()
                + "; run the job again with --on-bad-record skip to leave such rows out, or correct"
                + " the row and start over with --fresh, because the input of a job that has"
                + " started must not change",
            e);
      }
      badRecords++;
    }
    for (int i = 0; i < pending.size(); i++) {
      if (pending.get(i).size() >= BATCH_ELEMENTS || pendingChars[i] >= BATCH_CHARS) {
        flush(i);
      }
    }
  }

  private void add(String key, long timeMillis, String value) {
    int group = keyGroups.of(key);
    int subtask = KeyGroupRange.subtaskOf(group, shared.maxParallelism(), pending.size());
    pending.get(subtask).add(new Element(key, timeMillis, value, watermark));
    pendingChars[subtask] += key.length() + value.length();
    maxTimeOfRecord = Math.max(maxTimeOfRecord, timeMillis);
  }

  private void updateWatermark() {
    long least = Long.MAX_VALUE;
    for (Progress split : mine) {
      least =
          Math.min(
              least,
              Watermarks.of(split.finished(), split.maxTimeMillis, shared.job().latenessMillis()));
    }
    watermark = least;
  }

  private void waitFor(Pace pace) throws InterruptedException {
    long wait = pace.take(System.nanoTime());
    if (wait < MIN_WAIT_NANOS) {
      return;
    }
    flushAll();
    long until = System.nanoTime() + wait;
    while (!shared.control().stopped()) {
      sendBarrierIfRequested();
      long rest = until - System.nanoTime();
      if (rest <= 0) {
        return;
      }
      LockSupport.parkNanos(Math.min(rest, MAX_WAIT_NANOS));
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
    }
  }

  private void sendBarrierIfRequested() throws InterruptedException {
    PendingCheckpoint requested = shared.control().requested();
    if (requested == null || requested.id() == lastBarrier) {
      return;
    }
    lastBarrier = requested.id();
    // The watermark goes ahead of the barrier too: what it makes fire belongs to the checkpoint, so
    // that "fired" can be told from the positions after a restore.
    flushAll();
    for (Inbox inbox : shared.inboxes()) {
      inbox.put(index, new Message.Barrier(requested));
    }
    Map<Integer, Position> positions = new HashMap<>();
    mine.forEach(split -> positions.put(split.index, split.position()));
    requested.answer(index, new PendingCheckpoint.SourceAnswer(positions, badRecords));
  }

  private void flushAll() throws InterruptedException {
    for (int i = 0; i < pending.size(); i++) {
      flush(i);
    }
  }

  private void flush(int subtask) throws InterruptedException {
    List<Element> elements = pending.get(subtask);
    if (elements.isEmpty() && watermark == sentWatermarks[subtask]) {
      return;
    }
    shared.inboxes().get(subtask).put(index, new Message.Batch(elements, watermark));
    sentWatermarks[subtask] = watermark;
    pending.set(subtask, new ArrayList<>(BATCH_ELEMENTS));
    pendingChars[subtask] = 0;
  }
}
