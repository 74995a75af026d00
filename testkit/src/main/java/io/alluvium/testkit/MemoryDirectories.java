package io.alluvium.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/**
 * Temporary directories in memory, if the machine has a file system for that: {@code
 * TempDir(factory = MemoryDirectories.class)}. For suites that create and delete thousands of small
 * directories, which is slow on a disk. Immutable.
 */
public final class MemoryDirectories implements TempDirFactory {

  private static final Path SHARED_MEMORY = Path.of("/dev/shm");

  /** Free space required; containers often have only 64 MB of shared memory. */
  private static final long ROOM_BYTES = 1L << 30;

  @Override
  public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext extension)
      throws IOException {
    return Files.isWritable(SHARED_MEMORY)
            && Files.getFileStore(SHARED_MEMORY).getUsableSpace() > ROOM_BYTES
        ? Files.createTempDirectory(SHARED_MEMORY, "alluvium-test")
        : Files.createTempDirectory("alluvium-test");
  }
}
