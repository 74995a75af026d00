package io.alluvium.spi;

import io.alluvium.StateBackendException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/**
 * Durable objects by name: the seam to a directory, to object storage, to a faulty store in tests.
 *
 * <p>Names are relative to the store, made of {@code [A-Za-z0-9._/-]}, without a leading slash.
 * Every call blocks until its outcome is known; a call that throws {@link
 * StateBackendException.Kind#UNAVAILABLE} <b>may or may not have taken effect</b>. A missing blob
 * is {@code CORRUPT} when it is read. Thread-safe.
 */
public interface BlobStore extends AutoCloseable {

  /**
   * Stores a blob, all or nothing; it is durable when this returns. A name is never written with
   * other bytes than before, so that a retry is harmless.
   *
   * @param content the bytes, in order; read through duplicates, positions are left alone
   */
  void put(String name, List<ByteBuffer> content);

  /** Stores the content of a local file as a blob; otherwise as {@link #put}. */
  void putFile(String name, Path file);

  /**
   * As {@link #putFile(String, Path)}, no faster than {@code pace} allows: it is asked before each
   * piece, as small as the store sends them.
   */
  default void putFile(String name, Path file, Pace pace) {
    try {
      pace.await(Files.size(file));
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot store blob '" + name + "': local file '" + file + "' is not readable", e);
    }
    putFile(name, file);
  }

  /**
   * As {@link #putFile(String, Path, Pace)}, without waiting for the end, where a store takes
   * several files at once; others have stored the file when this returns.
   *
   * @param file is needed until the answer is there
   * @return fails as {@code putFile} does
   */
  default CompletableFuture<Void> beginPutFile(String name, Path file, Pace pace) {
    putFile(name, file, pace);
    return CompletableFuture.completedFuture(null);
  }

  /**
   * Stores a blob only if none of that name exists: the one primitive that ownership stands on.
   *
   * @return false when a blob of that name exists (nothing was changed)
   */
  boolean putIfAbsent(String name, byte[] content);

  /** The size of a blob in bytes, or empty when there is none. */
  OptionalLong size(String name);

  /**
   * Opens {@code length} bytes from {@code offset} for reading. The stream fails with an {@code
   * IOException} or ends early when the blob is shorter; the caller checks.
   */
  InputStream open(String name, long offset, long length);

  /**
   * Reads exactly {@code length} bytes from {@code offset}; {@code CORRUPT} when the blob is
   * missing or shorter.
   */
  default byte[] read(String name, long offset, int length) {
    try (InputStream in = open(name, offset, length)) {
      byte[] bytes = in.readNBytes(length);
      if (bytes.length != length) {
        throw StateBackendException.corrupt(
            name, offset + bytes.length, length + " bytes from " + offset, "the end of the blob");
      }
      return bytes;
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot read blob '" + name + "': " + e.getMessage(), e);
    }
  }

  /** All blobs whose name starts with {@code prefix}, ascending by name. */
  List<BlobInfo> list(String prefix);

  /** Deletes blobs; those that do not exist are passed over. */
  void delete(Collection<String> names);

  /**
   * Removes what interrupted puts left behind in the store besides blobs (temporary files, parts of
   * uploads) and that is older than that by the store's own clock. Harmless at any time: a put that
   * is still running elsewhere then fails with {@code UNAVAILABLE} and has not taken effect.
   */
  default void deleteLeftovers(Duration olderThan) {}

  /** The URI that the user configured, for messages. */
  String uri();

  @Override
  void close();
}
