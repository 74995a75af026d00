package io.alluvium.internal.restore;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.restore.RestorePlan.Source;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Execution;
import io.alluvium.spi.LocalTableFiles;
import io.alluvium.spi.TableFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings the table files of one restore into local directories (R1): from the cache of local files,
 * or from the blob store in ranges, all in parallel. Thread-safe; used once.
 */
final class PartFetcher {

  private static final Logger LOG = LoggerFactory.getLogger(PartFetcher.class);
  private static final int BUFFER_BYTES = 1 << 17;

  /*
   * Each blob is fetched once, into the first directory that wants it, and linked or copied into the others. Ranges of
   * a file arrive in any order and are written where they belong; each yields the checksum of what arrived, and these
   * are joined when all are there.
   */
  private final BlobStore store;
  private final Execution execution;
  private final Reads reads;
  private final Optional<LocalTableFiles> cache;
  private final int rangeBytes;
  private final AtomicInteger linked = new AtomicInteger();
  private final AtomicInteger downloaded = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicReference<@Nullable Throwable> firstFailure = new AtomicReference<>();
  private volatile boolean cancelled;

  /** A file and every place that wants it. */
  private record Wanted(TableFile file, List<Path> places) {}

  PartFetcher(
      BlobStore store, Execution execution, Optional<LocalTableFiles> cache, int rangeBytes) {
    this.store = store;
    this.execution = execution;
    this.reads = new Reads(execution);
    this.cache = cache;
    this.rangeBytes = rangeBytes;
  }

  /** Files that were found locally. */
  int filesLinked() {
    return linked.get();
  }

  int filesDownloaded() {
    return downloaded.get();
  }

  long bytesDownloaded() {
    return bytes.get();
  }

  /** What has not started fails soon; nothing new is written. Any thread. */
  void cancel() {
    cancelled = true;
  }

  /**
   * Starts to fetch the files of each source into the directory beside it.
   *
   * @return done when all are there, or one failed and none is being written any more
   */
  CompletableFuture<Void> fetch(Map<Path, Source> sources) {
    Map<BlobName, Wanted> wanted = new LinkedHashMap<>();
    sources.forEach((directory, source) -> collect(directory, source, wanted));
    List<CompletableFuture<Void>> files = new ArrayList<>();
    for (Wanted file : wanted.values()) {
      files.add(
          fetch(file)
              .whenComplete(
                  (done, failure) -> {
                    if (failure != null) {
                      firstFailure.compareAndSet(null, failure);
                      cancel();
                    }
                  }));
    }
    return CompletableFuture.allOf(files.toArray(new CompletableFuture<?>[0]))
        .exceptionallyCompose(
            last -> CompletableFuture.failedFuture(cause(firstFailure.get(), last)));
  }

  /** What failed first is the cause; the others were given up. */
  private static Throwable cause(@Nullable Throwable first, Throwable last) {
    Throwable failure = first == null ? last : first;
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }

  private static void collect(Path directory, Source source, Map<BlobName, Wanted> wanted) {
    try {
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw cannotWrite(directory, e);
    }
    for (TableFile file : source.files().files()) {
      Path place = directory.resolve(file.name()).normalize();
      if (!directory.equals(place.getParent()) || file.sizeBytes() < 0) {
        throw StateBackendException.corrupt(
            "blob '"
                + file.blob()
                + "' is recorded as table file '"
                + file.name()
                + "' of "
                + file.sizeBytes()
                + " bytes; expected a plain file name and a size of at least 0");
      }
      Wanted same =
          wanted.computeIfAbsent(file.blob(), blob -> new Wanted(file, new ArrayList<>()));
      if (same.file().sizeBytes() != file.sizeBytes() || same.file().crc32c() != file.crc32c()) {
        throw StateBackendException.corrupt(
            "blob '"
                + file.blob()
                + "' is recorded with two contents: "
                + describe(same.file())
                + " and "
                + describe(file));
      }
      same.places().add(place);
    }
  }

  private static String describe(TableFile file) {
    return file.sizeBytes() + " bytes of CRC32C " + Integer.toHexString(file.crc32c());
  }

  private CompletableFuture<Void> fetch(Wanted wanted) {
    return local(wanted)
        .thenCompose(
            found ->
                found
                    ? CompletableFuture.<Void>completedFuture(null)
                    : download(wanted.file(), wanted.places().get(0)))
        .thenRunAsync(() -> spread(wanted), execution.downloads());
  }

  private CompletableFuture<Boolean> local(Wanted wanted) {
    return cache.isEmpty()
        ? CompletableFuture.completedFuture(false)
        : reads.run(() -> findLocally(wanted));
  }

  /** True when the first place has been served from the cache. */
  private boolean findLocally(Wanted wanted) {
    checkGoesOn();
    TableFile file = wanted.file();
    Optional<Path> local = cache.flatMap(files -> files.lookup(file));
    if (local.isEmpty()) {
      return false;
    }
    OptionalLong remote = store.size(file.blob().toString());
    if (remote.isEmpty() || remote.getAsLong() != file.sizeBytes()) {
      throw StateBackendException.corrupt(
          "blob '"
              + file.blob()
              + "' must hold "
              + file.sizeBytes()
              + " bytes, found "
              + (remote.isEmpty() ? "no such blob" : remote.getAsLong() + " bytes"));
    }
    place(local.get(), wanted.places().get(0), file);
    linked.incrementAndGet();
    return true;
  }

  private CompletableFuture<Void> download(TableFile file, Path place) {
    List<CompletableFuture<Integer>> ranges = new ArrayList<>();
    for (long at = 0; at < file.sizeBytes(); at += rangeBytes) {
      long offset = at;
      int length = (int) Math.min(rangeBytes, file.sizeBytes() - at);
      ranges.add(reads.run(() -> download(file, place, offset, length)));
    }
    return CompletableFuture.allOf(ranges.toArray(new CompletableFuture<?>[0]))
        .thenAccept(done -> check(file, place, ranges));
  }

  /** Reads one range into its place in the file; returns the checksum of what was read. */
  private int download(TableFile file, Path place, long offset, int length) {
    checkGoesOn();
    String blob = file.blob().toString();
    CRC32C crc = new CRC32C();
    byte[] buffer = new byte[Math.min(length, BUFFER_BYTES)];
    try (InputStream in = store.open(blob, offset, length);
        FileChannel out =
            FileChannel.open(place, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (int done = 0; done < length; ) {
        int count = read(in, buffer, Math.min(buffer.length, length - done), file);
        if (count < 0) {
          throw StateBackendException.corrupt(
              blob, offset + done, file.sizeBytes() + " bytes in all", "the end of the blob");
        }
        crc.update(buffer, 0, count);
        write(out, ByteBuffer.wrap(buffer, 0, count), offset + done);
        done += count;
      }
    } catch (IOException e) {
      throw cannotWrite(place, e);
    }
    bytes.addAndGet(length);
    return (int) crc.getValue();
  }

  private static int read(InputStream in, byte[] buffer, int length, TableFile file) {
    try {
      return in.read(buffer, 0, length);
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot read blob '" + file.blob() + "': " + e.getMessage(), e);
    }
  }

  private static void write(FileChannel out, ByteBuffer content, long offset) throws IOException {
    long at = offset;
    while (content.hasRemaining()) {
      at += out.write(content, at);
    }
  }

  private void check(TableFile file, Path place, List<CompletableFuture<Integer>> ranges) {
    int crc = 0;
    long rest = file.sizeBytes();
    for (CompletableFuture<Integer> range : ranges) {
      long length = Math.min(rangeBytes, rest);
      crc = Crc32cParts.join(crc, range.join(), length);
      rest -= length;
    }
    if (crc != file.crc32c()) {
      throw StateBackendException.corrupt(
          file.blob().toString(),
          0,
          "CRC32C "
              + Integer.toHexString(file.crc32c())
              + " over all "
              + file.sizeBytes()
              + " bytes",
          Integer.toHexString(crc));
    }
    if (file.sizeBytes() == 0) {
      try {
        Files.createFile(place);
      } catch (IOException e) {
        throw cannotWrite(place, e);
      }
    }
    downloaded.incrementAndGet();
    cache.ifPresent(files -> keep(files, place, file));
  }

  /** The state is restored without it; only the next restore takes longer. */
  private static void keep(LocalTableFiles cache, Path place, TableFile file) {
    try {
      cache.add(place, file);
    } catch (StateBackendException e) {
      LOG.warn("{}", e.getMessage());
    }
  }

  private void spread(Wanted wanted) {
    for (Path place : wanted.places().subList(1, wanted.places().size())) {
      place(wanted.places().get(0), place, wanted.file());
    }
  }

  private static void place(Path source, Path target, TableFile file) {
    try {
      LocalFileCache.place(source, target, file.immutable());
    } catch (IOException e) {
      throw cannotWrite(target, e);
    }
  }

  private void checkGoesOn() {
    if (cancelled) {
      throw StateBackendException.of(Kind.CLOSED, "the restore was cancelled");
    }
  }

  private static StateBackendException cannotWrite(Path path, IOException cause) {
    return StateBackendException.unavailable(
        "cannot write '"
            + path
            + "' during a restore: "
            + cause
            + "; check space and permissions of the local directory",
        cause);
  }
}
