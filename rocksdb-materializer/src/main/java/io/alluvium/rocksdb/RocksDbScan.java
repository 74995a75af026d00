package io.alluvium.rocksdb;

import io.alluvium.spi.TableScan;
import io.alluvium.spi.UseGuard;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;

/**
 * Walks the entries within {@code [from, to)}, as they were when it was opened. Confined to one
 * thread, except {@link #close}, which any thread may call: native memory is freed when no call
 * reads it any more. Copies each entry into arrays that it keeps, without allocating.
 */
final class RocksDbScan implements TableScan {

  private static final int FIRST_CAPACITY = 256;

  private final Database database;
  private final UseGuard guard;
  private final RocksIterator iterator;
  private final byte[] from;

  private byte[] key = new byte[FIRST_CAPACITY];
  private byte[] value = new byte[FIRST_CAPACITY];
  private int keyLength;
  private int valueLength;
  private boolean started;
  private boolean ended;

  /**
   * @param natives empty; owned by the scan from here on
   * @param from first key, which need not exist
   * @param to first key beyond; null for none
   * @param whenClosed called once, after the natives are closed, by whoever was inside last
   */
  RocksDbScan(
      Database database,
      Natives natives,
      byte[] from,
      byte @Nullable [] to,
      Consumer<RocksDbScan> whenClosed) {
    this.database = database;
    this.guard =
        new UseGuard(
            "this scan, or the keyed backend with its table in '" + database.directory() + "',",
            () -> {
              try {
                natives.close();
              } finally {
                whenClosed.accept(this);
              }
            });
    try {
      ReadOptions options = natives.add(new ReadOptions(database.readOptions()));
      if (to != null) {
        options.setIterateUpperBound(natives.add(new Slice(to)));
      }
      this.iterator = natives.add(database.db().newIterator(database.data(), options));
      this.from = from;
    } catch (RuntimeException | Error e) {
      natives.close();
      throw e;
    }
  }

  @Override
  public boolean next() {
    guard.enter();
    try {
      return advance();
    } finally {
      guard.exit();
    }
  }

  private boolean advance() {
    if (ended) {
      return false;
    }
    if (started) {
      iterator.next();
    } else {
      // Not before: whoever opens a scan for another thread does not wait for the disk.
      iterator.seek(from);
    }
    started = true;
    if (!iterator.isValid()) {
      ended = true;
      checkStatus();
      return false;
    }
    readKey();
    readValue();
    return true;
  }

  private void readKey() {
    keyLength = iterator.key(key, 0, key.length);
    if (keyLength > key.length) {
      key = new byte[Math.max(keyLength, 2 * key.length)];
      keyLength = iterator.key(key, 0, key.length);
    }
  }

  private void readValue() {
    valueLength = iterator.value(value, 0, value.length);
    if (valueLength > value.length) {
      value = new byte[(int) Math.max(valueLength, Math.min(2L * value.length, 1 << 30))];
      valueLength = iterator.value(value, 0, value.length);
    }
  }

  /** An iterator also ends when it cannot read on. */
  private void checkStatus() {
    try {
      iterator.status();
    } catch (RocksDBException e) {
      throw RocksDbFailures.of(e, "scan a table", database.directory());
    }
  }

  @Override
  public byte[] key() {
    return key;
  }

  @Override
  public int keyLength() {
    return keyLength;
  }

  @Override
  public byte[] value() {
    return value;
  }

  @Override
  public int valueLength() {
    return valueLength;
  }

  @Override
  public void close() {
    CompletableFuture<Void> unused = guard.close();
  }
}
