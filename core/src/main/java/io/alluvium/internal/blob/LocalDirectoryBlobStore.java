package io.alluvium.internal.blob;

import io.alluvium.StateBackendException;
import io.alluvium.internal.files.LocalFiles;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Pace;
import io.alluvium.spi.StoreNames;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Stores blobs as files below one directory, which is created with the first blob. Thread-safe;
 * several processes may use the same directory.
 */
public final class LocalDirectoryBlobStore implements BlobStore {

  /*
   * Every blob is written to a temporary file below `.tmp` and forced to disk before it gets its name: by an atomic
   * rename, or, for putIfAbsent, by a hard link, which fails if the name is taken. A reader therefore never sees part
   * of a blob. The name is durable once its directory is forced to disk, the last step. A failure of that step leaves
   * the outcome unknown, which the contract allows. A putIfAbsent that finds the name taken also forces the directory:
   * its caller may act on that result, so that the name must still be taken after a power failure.
   *
   * Every store forces the directories that it uses into their parents, also those that another store created.
   * A deletion removes directories that became empty; a put that loses its directory that way creates it again.
   */

  /** Size of the pieces for which the pace is awaited. */
  private static final long PIECE_BYTES = 256L << 10;

  private static final int PUBLISH_ATTEMPTS = 100;

  private final Path root;
  private final String uri;
  private final LocalDirectories directories;
  private final TemporaryFiles temporary;
  private volatile boolean closed;

  public LocalDirectoryBlobStore(Path root, String uri) {
    this.root = root.toAbsolutePath().normalize();
    this.uri = uri;
    this.directories = new LocalDirectories(this.root);
    this.temporary = new TemporaryFiles(this.root.resolve(StoreNames.TEMPORARY), directories);
    directories.checkRoot();
  }

  /** Writes the bytes of a blob. */
  private interface Source {
    void writeTo(FileChannel channel) throws IOException;
  }

  /** Gives a finished temporary file its name; returns false if the name is taken. */
  private interface Publish {
    boolean apply(Path temporary, Path target) throws IOException;
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    store(name, channel -> write(channel, content), LocalDirectoryBlobStore::rename);
  }

  @Override
  public void putFile(String name, Path file) {
    putFile(name, file, Pace.NONE);
  }

  @Override
  public void putFile(String name, Path file, Pace pace) {
    checkOpen();
    if (!Files.isRegularFile(file)) {
      throw StateBackendException.invalid(
          "cannot store blob '" + name + "': there is no local file '" + file + "'");
    }
    store(name, channel -> copy(channel, file, pace), LocalDirectoryBlobStore::rename);
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    return store(
        name,
        channel -> write(channel, List.of(ByteBuffer.wrap(content))),
        LocalDirectoryBlobStore::link);
  }

  private static void write(FileChannel channel, List<ByteBuffer> content) throws IOException {
    for (ByteBuffer part : content) {
      LocalFiles.write(channel, part);
    }
  }

  private static void copy(FileChannel channel, Path file, Pace pace) throws IOException {
    try (FileChannel from = FileChannel.open(file, StandardOpenOption.READ)) {
      long size = from.size();
      long done = 0;
      while (done < size) {
        long piece = Math.min(size - done, PIECE_BYTES);
        pace.await(piece);
        long count = from.transferTo(done, piece, channel);
        if (count <= 0) {
          throw new IOException(
              "local file '" + file + "' ended after " + done + " of " + size + " bytes");
        }
        done += count;
      }
    }
  }

  private static boolean rename(Path temporary, Path target) throws IOException {
    Files.move(
        temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    return true;
  }

  private static boolean link(Path temporary, Path target) throws IOException {
    try {
      Path unused = Files.createLink(target, temporary);
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    } catch (UnsupportedOperationException e) {
      throw StateBackendException.of(
          StateBackendException.Kind.INVALID,
          "the file system of '"
              + target.getParent()
              + "' has no hard links, which ownership of a job needs; choose another directory",
          e);
    }
  }

  private boolean store(String name, Source source, Publish publish) {
    Path target = path(name);
    try (TemporaryFiles.File file = temporary.create()) {
      try (FileChannel channel = file.open()) {
        source.writeTo(channel);
        channel.force(true);
      }
      return publish(file.path(), target, publish);
    } catch (IOException e) {
      throw directories.failure("cannot store blob '" + name + "'", e);
    }
  }

  private boolean publish(Path file, Path target, Publish publish) throws IOException {
    Path directory = LocalDirectories.parent(target);
    for (int attempt = 1; ; attempt++) {
      try {
        directories.prepare(directory);
        boolean published = publish.apply(file, target);
        forceName(directory, target);
        return published;
      } catch (NoSuchFileException e) {
        // Either an empty directory was deleted meanwhile, or the temporary file was.
        directories.forget(directory);
        if (attempt == PUBLISH_ATTEMPTS || !Files.exists(file)) {
          throw e;
        }
      }
    }
  }

  /** Forces the name of a blob to disk. After a failure the blob may be stored or not. */
  private void forceName(Path directory, Path target) throws IOException {
    try {
      LocalDirectories.force(directory);
    } catch (NoSuchFileException e) {
      throw e;
    } catch (IOException e) {
      throw directories.unavailable(
          "it is unknown whether blob '" + name(target) + "' is stored", e);
    }
  }

  @Override
  public OptionalLong size(String name) {
    Path file = path(name);
    try {
      BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
      return attributes.isRegularFile() ? OptionalLong.of(attributes.size()) : OptionalLong.empty();
    } catch (IOException e) {
      if (LocalDirectories.isMissing(e)) {
        directories.checkRoot();
        return OptionalLong.empty();
      }
      throw directories.failure("cannot get the size of blob '" + name + "'", e);
    }
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    Path file = path(name);
    try {
      FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
      return new RangeInputStream(channel, offset, length);
    } catch (IOException e) {
      if (LocalDirectories.isMissing(e)) {
        directories.checkRoot();
        throw StateBackendException.corrupt(name, 0, "the blob", "nothing of that name");
      }
      throw directories.failure("cannot read blob '" + name + "'", e);
    }
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    checkOpen();
    int slash = prefix.lastIndexOf('/');
    String folder = slash < 0 ? "" : prefix.substring(0, slash);
    if (!folder.isEmpty()) {
      StoreNames.check(folder);
    }
    directories.checkRoot();
    List<BlobInfo> found = new ArrayList<>();
    try {
      list(folder.isEmpty() ? root : root.resolve(folder), prefix, found);
    } catch (IOException e) {
      throw directories.failure("cannot list blobs under '" + prefix + "'", e);
    }
    found.sort(Comparator.comparing(BlobInfo::name));
    return found;
  }

  private void list(Path directory, String prefix, List<BlobInfo> found) throws IOException {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
      for (Path entry : entries) {
        String name = name(entry);
        if (StoreNames.isValid(name)
            && (name.startsWith(prefix) || prefix.startsWith(name + "/"))) {
          listEntry(entry, name, prefix, found);
        }
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    } catch (IOException e) {
      if (!LocalDirectories.isMissing(e)) {
        throw e;
      }
    }
  }

  private void listEntry(Path entry, String name, String prefix, List<BlobInfo> found)
      throws IOException {
    BasicFileAttributes attributes;
    try {
      attributes = Files.readAttributes(entry, BasicFileAttributes.class);
    } catch (NoSuchFileException e) {
      return; // deleted after the directory was read
    }
    if (attributes.isDirectory()) {
      list(entry, prefix, found);
    } else if (name.startsWith(prefix)) {
      found.add(new BlobInfo(name, attributes.size(), attributes.lastModifiedTime().toInstant()));
    }
  }

  private String name(Path file) {
    return root.relativize(file).toString().replace('\\', '/');
  }

  @Override
  public void delete(Collection<String> names) {
    checkOpen();
    names.forEach(StoreNames::check);
    Set<Path> touched = new HashSet<>();
    try {
      for (String name : names) {
        Path file = root.resolve(name);
        if (!Files.isDirectory(file)) {
          deleteIfThere(file);
          // Also for a missing file: an earlier process may have been killed after it deleted the
          // file and before it forced the directory.
          Path parent = LocalDirectories.parent(file);
          if (Files.isDirectory(parent)) {
            touched.add(parent);
          }
        }
      }
      for (Path directory : touched) {
        directories.forceAndPrune(directory);
      }
    } catch (IOException e) {
      throw directories.failure("cannot delete blobs", e);
    }
  }

  private static void deleteIfThere(Path file) throws IOException {
    try {
      boolean unused = Files.deleteIfExists(file);
    } catch (IOException e) {
      if (!LocalDirectories.isMissing(e)) {
        throw e;
      }
    }
  }

  @Override
  public void deleteLeftovers(Duration olderThan) {
    checkOpen();
    try {
      temporary.deleteAbandoned(olderThan);
    } catch (IOException e) {
      throw directories.failure("cannot delete temporary files", e);
    }
  }

  @Override
  public String uri() {
    return uri;
  }

  @Override
  public void close() {
    closed = true;
  }

  private Path path(String name) {
    checkOpen();
    StoreNames.check(name);
    return root.resolve(name);
  }

  private void checkOpen() {
    if (closed) {
      throw StateBackendException.closed("the blob store '" + uri + "' is closed");
    }
  }
}
