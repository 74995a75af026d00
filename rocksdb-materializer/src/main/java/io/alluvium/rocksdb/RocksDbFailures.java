package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/** Turns RocksDB's errors into ours; the only place that looks at its status codes. Thread-safe. */
final class RocksDbFailures {

  private RocksDbFailures() {}

  /**
   * The exception for a failed call.
   *
   * @param doing what was tried, to complete "cannot ..."
   * @param directory of the table
   */
  static StateBackendException of(RocksDBException e, String doing, Path directory) {
    Status status = e.getStatus();
    String text = describe(e, status);
    String what = "cannot " + doing + " in '" + directory + "'";
    if (status == null) {
      return failure(Kind.INTERNAL, what + ": " + text, e);
    }
    if (status.getSubCode() == Status.SubCode.NoSpace || text.contains("No space left on device")) {
      return failure(
          Kind.UNAVAILABLE,
          what
              + ": the disk is full; free space there or point 'state.backend.rocksdb.localdir'"
              + " to a larger volume",
          e);
    }
    if (status.getSubCode() == Status.SubCode.MemoryLimit) {
      return failure(
          Kind.UNAVAILABLE,
          what
              + ": the block cache is full and its limit is strict; raise '"
              + RocksDbOptions.MEMORY.key()
              + "' or turn off '"
              + RocksDbOptions.STRICT_LIMIT.key()
              + "'",
          e);
    }
    return switch (status.getCode()) {
      case Corruption -> corruption(what, text, e);
      case IOError, TimedOut, Busy, TryAgain, Aborted, Incomplete ->
          failure(Kind.UNAVAILABLE, what + ": " + text + ioRemedy(text), e);
      case ShutdownInProgress -> failure(Kind.CLOSED, what + ": the table is closed", e);
      default -> failure(Kind.INTERNAL, what + ": " + text, e);
    };
  }

  private static StateBackendException corruption(String what, String text, RocksDBException e) {
    if (text.contains("format_version")) {
      return failure(
          Kind.INCOMPATIBLE,
          what + ": a file was written by a newer RocksDB than this one reads (" + text + ")",
          e);
    }
    return failure(Kind.CORRUPT, what + ": a table file is damaged or missing: " + text, e);
  }

  private static String ioRemedy(String text) {
    if (text.contains("lock")) {
      return "; another table is open in that directory";
    }
    if (text.contains("Too many open files")) {
      return "; raise the limit of open files of the process or set '"
          + RocksDbOptions.OPEN_FILES.key()
          + "'";
    }
    return "";
  }

  private static String describe(RocksDBException e, @Nullable Status status) {
    if (status != null && status.getState() != null && !status.getState().isEmpty()) {
      return status.getState();
    }
    return e.getMessage() == null || e.getMessage().isEmpty() ? "no reason given" : e.getMessage();
  }

  private static StateBackendException failure(Kind kind, String message, RocksDBException e) {
    return StateBackendException.of(kind, message, e);
  }

  /** The exception for a failed file operation. */
  static StateBackendException of(IOException e, String doing, Path directory) {
    String text = String.valueOf(e.getMessage());
    return StateBackendException.unavailable(
        "cannot "
            + doing
            + " in '"
            + directory
            + "': "
            + (text.contains("No space left on device")
                ? "the disk is full; free space there or point 'state.backend.rocksdb.localdir' to"
                    + " a larger volume"
                : e.getClass().getSimpleName() + ": " + text),
        e);
  }
}
