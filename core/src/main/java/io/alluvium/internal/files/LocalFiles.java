package io.alluvium.internal.files;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystems;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** What several packages do with local files. */
public final class LocalFiles {

  private static final int BUFFER_BYTES = 1 << 16;

  private static final FileAttribute<?>[] PRIVATE = privateAttributes();

  /**
   * The JDK moves the bytes of an array through direct memory of the same size, which the thread
   * keeps. So large arrays go to and from a channel in pieces.
   */
  private static final int PIECE_BYTES = 256 << 10;

  private LocalFiles() {}

  private static FileAttribute<?>[] privateAttributes() {
    return FileSystems.getDefault().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
        }
        : new FileAttribute<?>[0];
  }

  /** Makes a directory that only its owner may look into, where the file system knows owners. */
  public static void createPrivateDirectory(Path directory) throws IOException {
    Path unused = Files.createDirectory(directory, PRIVATE);
  }

  /** As {@link #createPrivateDirectory}, with those above that are missing; one may be there. */
  public static void createPrivateDirectories(Path directory) throws IOException {
    Path unused = Files.createDirectories(directory, PRIVATE);
  }

  /** Takes every right to an existing directory from others. */
  public static void makePrivate(Path directory) throws IOException {
    if (PRIVATE.length > 0) {
      Path unused =
          Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
    }
  }

  /**
   * Deletes a directory and everything in it; one that is not there is passed over. Somebody else
   * may delete in it at the same time: subtasks that clear the files of another parallelism away, a
   * materialization that ends while the process closes.
   */
  public static void deleteTree(Path directory) throws IOException {
    Files.walkFileTree(directory, new Deleter());
  }

  /** Unlike a stream of {@code Files.walk}, it goes on when something is gone already. */
  private static final class Deleter extends SimpleFileVisitor<Path> {
    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
      Files.deleteIfExists(file);
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
      if (failure instanceof NoSuchFileException) {
        return FileVisitResult.CONTINUE;
      }
      throw failure;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failure)
        throws IOException {
      if (failure != null && !(failure instanceof NoSuchFileException)) {
        throw failure;
      }
      Files.deleteIfExists(directory);
      return FileVisitResult.CONTINUE;
    }
  }

  /** Writes all that remains of {@code content}, whose position stays. */
  public static void write(FileChannel channel, ByteBuffer content) throws IOException {
    ByteBuffer rest = content.duplicate();
    while (rest.position() < content.limit()) {
      rest.limit(Math.min(content.limit(), rest.position() + PIECE_BYTES));
      channel.write(rest);
    }
  }

  /**
   * Reads at most {@code count} bytes at a position of a file, maybe fewer.
   *
   * @return how many, or -1 at the end of the file
   */
  public static int read(FileChannel channel, long position, byte[] target, int offset, int count)
      throws IOException {
    return channel.read(ByteBuffer.wrap(target, offset, Math.min(count, PIECE_BYTES)), position);
  }

  /** The checksum of all bytes of a file. */
  public static int crc32c(Path file) throws IOException {
    CRC32C crc = new CRC32C();
    byte[] buffer = new byte[BUFFER_BYTES];
    try (InputStream in = Files.newInputStream(file)) {
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        crc.update(buffer, 0, count);
      }
    }
    return (int) crc.getValue();
  }
}
