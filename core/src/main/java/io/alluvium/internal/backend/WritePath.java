package io.alluvium.internal.backend;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Operation;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableScan;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The one way into the state of a backend: every update is written twice, into the table and into
 * the changelog, the same bytes, serialized once. Confined to the task thread, except {@link
 * #appliedUpTo()}.
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
   * materializer reads it before it cuts the table, and replays from there.
   */
  private final Table table;
  private final Changelog changelog;

  @SuppressWarnings("unused") // read and written through APPLIED
  private long applied;

  private boolean closed;

  public WritePath(Table table, Changelog changelog) {
    this.table = table;
    this.changelog = changelog;
    APPLIED.setRelease(this, changelog.nextSqn());
  }

  /** Reads the value of a key into {@code into}; false when there is none. */
  public boolean get(ByteWriter key, ByteWriter into) {
    checkOpen();
    return table.get(key.array(), key.length(), into);
  }

  public void put(ByteWriter key, ByteWriter value) {
    checkOpen();
    checkSize(key, value);
    table.put(key.array(), key.length(), value.array(), value.length());
    log(Operation.PUT, key, value.array(), value.length());
  }

  public void delete(ByteWriter key) {
    checkOpen();
    table.delete(key.array(), key.length());
    log(Operation.DELETE, key, NOTHING, 0);
  }

  /** Removes every key that starts with {@code prefix}, which reaches at least to the state id. */
  public void deleteRange(ByteWriter prefix) {
    checkOpen();
    table.deleteRange(prefix.array(), prefix.length());
    log(Operation.DELETE_RANGE, prefix, NOTHING, 0);
  }

  /** Appends an operand that carries {@link #nextSqn()}, see {@code ListOperands}. */
  public void merge(ByteWriter key, ByteWriter operand) {
    checkOpen();
    checkSize(key, operand);
    table.merge(key.array(), key.length(), operand.array(), operand.length());
    log(Operation.MERGE, key, operand.array(), operand.length());
  }

  public TableScan scan(ByteWriter prefix) {
    checkOpen();
    return table.scan(prefix.array(), prefix.length());
  }

  /** As {@link #scan}, without the keys before {@code from}, which starts with the prefix. */
  public TableScan scanFrom(ByteWriter prefix, byte[] from) {
    checkOpen();
    return table.scanFrom(prefix.array(), prefix.length(), from, from.length);
  }

  /** The sequence number of the next change: the tag that a list operand must carry. */
  public long nextSqn() {
    return changelog.nextSqn();
  }

  private void log(Operation operation, ByteWriter key, byte[] value, int valueLength) {
    changelog.append(operation, key.array(), key.length(), value, valueLength);
    APPLIED.setRelease(this, changelog.nextSqn());
  }

  /** A lower bound: every change below it is in the table. Thread-safe. */
  public long appliedUpTo() {
    return (long) APPLIED.getAcquire(this);
  }

  /** Before the table: what the changelog would refuse must not be in the table either. */
  private static void checkSize(ByteWriter key, ByteWriter value) {
    if ((long) key.length() + value.length() > Changelog.MAX_CHANGE_BYTES) {
      throw StateBackendException.invalid(
          "a key of "
              + key.length()
              + " and a value of "
              + value.length()
              + " bytes; together they must not exceed "
              + Changelog.MAX_CHANGE_BYTES
              + " bytes: split the value, for example into a map state");
    }
  }

  private void checkOpen() {
    if (closed) {
      throw StateBackendException.closed(
          "this backend is closed; its states cannot be used any more");
    }
  }

  /** From now on every use throws {@code CLOSED}. */
  public void close() {
    closed = true;
  }
}
