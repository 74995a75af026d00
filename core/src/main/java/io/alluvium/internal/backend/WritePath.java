package io.alluvium.internal.backend;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Operation;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableScan;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The one way into the state of a backend: every update is written twice, into the table and into
 * the changelog, the same bytes, serialized once. Confined to the task thread, except {@link
 * #appliedUpTo()}, {@link #torn} and {@link #close}.
 */
public final class WritePath {

  private static final VarHandle APPLIED;
  private static final byte[] NOTHING = new byte[0];

  static {
    try {
      APPLIED = MethodHandles.lookup().findVarHandle(WritePath.class, "applied", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /*
   * The table comes first: a write that the table refuses (disk full) is not logged, so that the log never holds a
   * change that the table lacks. `applied` is published after both, as a lower bound of what the table holds (P1): the
   * materializer reads it before it takes a snapshot, and replays from there.
   *
   * A change that the table holds, or may hold, and the log does not tears the two apart for good: a checkpoint would
   * restore something else than what the task reads. So none is taken any more.
   *
   * The wait for room comes before both: a change that is not applied may be repeated.
   */
  private final Table table;
  private final Changelog changelog;

  @SuppressWarnings("unused") // read and written through APPLIED
  private long applied;

  /** Set by whoever closes; a plain load where it is read. */
  private volatile boolean closed;

  private volatile @Nullable StateBackendException torn;

  public WritePath(Table table, Changelog changelog) {
    this.table = table;
    this.changelog = changelog;
    APPLIED.setRelease(this, changelog.nextSqn());
  }

  /** Reads the value of a key into {@code into}; false when there is none. */
  public boolean get(byte[] key, int keyLength, ByteWriter into) {
    checkOpen();
    return table.get(key, keyLength, into);
  }

  public boolean get(ByteWriter key, ByteWriter into) {
    return get(key.array(), key.length(), into);
  }

  public void put(byte[] key, int keyLength, byte[] value, int valueLength) {
    begin();
    checkSize(keyLength, valueLength);
    try {
      table.put(key, keyLength, value, valueLength);
    } catch (RuntimeException | Error e) {
      refused(e);
      throw e;
    }
    log(Operation.PUT, key, keyLength, value, valueLength);
  }

  public void put(ByteWriter key, ByteWriter value) {
    put(key.array(), key.length(), value.array(), value.length());
  }

  public void delete(byte[] key, int keyLength) {
    begin();
    try {
      table.delete(key, keyLength);
    } catch (RuntimeException | Error e) {
      refused(e);
      throw e;
    }
    log(Operation.DELETE, key, keyLength, NOTHING, 0);
  }

  public void delete(ByteWriter key) {
    delete(key.array(), key.length());
  }

  /** Removes every key that starts with {@code prefix}, which reaches at least to the state id. */
  public void deleteRange(byte[] prefix, int prefixLength) {
    begin();
    try {
      table.deleteRange(prefix, prefixLength);
    } catch (RuntimeException | Error e) {
      rangeRefused(e);
      throw e;
    }
    log(Operation.DELETE_RANGE, prefix, prefixLength, NOTHING, 0);
  }

  public void deleteRange(ByteWriter prefix) {
    deleteRange(prefix.array(), prefix.length());
  }

  /** Appends an operand that carries {@link #nextSqn()}, see {@code ListOperands}. */
  public void merge(byte[] key, int keyLength, byte[] operand, int operandLength) {
    begin();
    checkSize(keyLength, operandLength);
    try {
      table.merge(key, keyLength, operand, operandLength);
    } catch (RuntimeException | Error e) {
      refused(e);
      throw e;
    }
    log(Operation.MERGE, key, keyLength, operand, operandLength);
  }

  public void merge(ByteWriter key, ByteWriter operand) {
    merge(key.array(), key.length(), operand.array(), operand.length());
  }

  /**
   * Sets a value in the table only; what stands below every checkpoint needs no log. So it may be
   * longer than a change: a list that grew by appends is one value in a savepoint.
   */
  void load(byte[] key, int keyLength, byte[] value, int valueLength) {
    checkOpen();
    table.put(key, keyLength, value, valueLength);
  }

  public TableScan scan(ByteWriter prefix) {
    return scan(prefix.array(), prefix.length());
  }

  /** As {@link #scan}, without the keys before {@code from}, which starts with the prefix. */
  public TableScan scanFrom(ByteWriter prefix, byte[] from) {
    return scanFrom(prefix.array(), prefix.length(), from, from.length);
  }

  TableScan scan(byte[] prefix, int prefixLength) {
    checkOpen();
    return table.scan(prefix, prefixLength);
  }

  TableScan scanFrom(byte[] prefix, int prefixLength, byte[] from, int fromLength) {
    checkOpen();
    return table.scanFrom(prefix, prefixLength, from, fromLength);
  }

  /** The sequence number of the next change: the tag that a list operand must carry. */
  public long nextSqn() {
    return changelog.nextSqn();
  }

  /** Before each change, which nothing holds yet. */
  private void begin() {
    changelog.awaitRoom();
    // It may have been closed meanwhile.
    checkOpen();
  }

  private void log(Operation operation, byte[] key, int keyLength, byte[] value, int valueLength) {
    try {
      changelog.append(operation, key, keyLength, value, valueLength);
    } catch (RuntimeException | Error e) {
      if (changelog.nextSqn() != appliedUpTo()) {
        // It is logged, and what failed came after.
        APPLIED.setRelease(this, changelog.nextSqn());
      } else if (!is(Kind.CLOSED, e)) {
        torn(e, "the local table holds a change that the changelog refused");
      }
      throw e;
    }
    APPLIED.setRelease(this, changelog.nextSqn());
  }

  /**
   * A change of one key that a table refuses in so many words it has not applied; after any other
   * failure it may have.
   */
  private void refused(Throwable failure) {
    if (!(failure instanceof StateBackendException)) {
      mayBeApplied(failure);
    }
  }

  /** A range has many keys: a table that fails half-way may have removed some of them. */
  private void rangeRefused(Throwable failure) {
    if (!is(Kind.CLOSED, failure) && !is(Kind.INVALID, failure)) {
      mayBeApplied(failure);
    }
  }

  private void mayBeApplied(Throwable failure) {
    torn(failure, "the local table may hold a change that is not in the changelog");
  }

  private static boolean is(Kind kind, Throwable failure) {
    return failure instanceof StateBackendException known && known.kind() == kind;
  }

  private void torn(Throwable failure, String how) {
    torn(
        StateBackendException.of(
            is(Kind.INVALID, failure) ? Kind.INVALID : Kind.INTERNAL,
            "checkpoints of this keyed backend are impossible from now on, because "
                + how
                + " ("
                + (failure instanceof StateBackendException ? failure.getMessage() : failure)
                + "); older checkpoints are not affected: start the job again",
            failure));
  }

  /** No checkpoint is possible any more; the first reason stays. */
  void torn(StateBackendException why) {
    if (torn == null) {
      torn = why;
    }
  }

  /** Why no checkpoint is possible any more; null while they are. Any thread. */
  @Nullable StateBackendException torn() {
    return torn;
  }

  /** A lower bound: every change below it is in the table. Thread-safe. */
  public long appliedUpTo() {
    return (long) APPLIED.getAcquire(this);
  }

  /** Before the table: what the changelog would refuse must not be in the table either. */
  private static void checkSize(int keyLength, int valueLength) {
    if ((long) keyLength + valueLength > Changelog.MAX_CHANGE_BYTES) {
      throw StateBackendException.invalid(
          "a key of "
              + keyLength
              + " and a value of "
              + valueLength
              + " bytes; together they must not exceed "
              + Changelog.MAX_CHANGE_BYTES
              + " bytes: split the value, for example into a map state");
    }
  }

  /** Throws {@code CLOSED} once closed. */
  public void checkOpen() {
    if (closed) {
      throw StateBackendException.closed(
          "this keyed backend is closed; its states cannot be used any more");
    }
  }

  public boolean isOpen() {
    return !closed;
  }

  /** Every use that begins from now on throws {@code CLOSED}; any thread. */
  public void close() {
    closed = true;
  }
}
