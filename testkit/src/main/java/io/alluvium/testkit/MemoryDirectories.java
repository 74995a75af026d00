package io.alluvium.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/**
 * Temporary directories in memory where the machine has a file system for that: {@code
 * TempDir(factory = MemoryDirectories.class)}. For suites that make and remove thousands of small
 * directories, which a disk would be slow at. Immutable.
 */
public final class MemoryDirectories implements TempDirFactory {

  private static final Path SHARED_MEMORY = Path.of("/dev/shm");

  /** Containers often have a shared memory of just 64 MB. */
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
