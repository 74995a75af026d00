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

/** Operations on local files that several packages share. Stateless. */
public final class LocalFiles {

  private static final int BUFFER_BYTES = 1 << 16;

  private static final FileAttribute<?>[] PRIVATE = privateAttributes();

  /**
   * The JDK copies the bytes of an array through a direct buffer of the same size, which the thread
   * keeps. Large arrays are therefore transferred in pieces.
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

  /** Creates a directory that only its owner can access, if the file system supports owners. */
  public static void createPrivateDirectory(Path directory) throws IOException {
    Path unused = Files.createDirectory(directory, PRIVATE);
  }

  /** Like {@link #createPrivateDirectory}, with missing parents; directories may exist already. */
  public static void createPrivateDirectories(Path directory) throws IOException {
    Path unused = Files.createDirectories(directory, PRIVATE);
  }

  /** Removes all access rights of other users to an existing directory. */
  public static void makePrivate(Path directory) throws IOException {
    if (PRIVATE.length > 0) {
      Path unused =
          Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
    }
  }

  /**
   * Deletes a directory and everything in it; a missing directory is ignored. Other threads may
   * delete in it at the same time: subtasks that remove the files of another parallelism, or a
   * materialization that ends while the process closes.
   */
  public static void deleteTree(Path directory) throws IOException {
    Files.walkFileTree(directory, new Deleter());
  }

  /** Unlike a stream of {@code Files.walk}, it continues if a file was already deleted. */
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

  /** Writes the remaining bytes of {@code content}; its position does not change. */
  public static void write(FileChannel channel, ByteBuffer content) throws IOException {
    ByteBuffer rest = content.duplicate();
    while (rest.position() < content.limit()) {
      rest.limit(Math.min(content.limit(), rest.position() + PIECE_BYTES));
      channel.write(rest);
    }
  }

  /**
   * Reads at most {@code count} bytes at a position of a file; may read fewer.
   *
   * @return the number of bytes read, or -1 at the end of the file
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
