package io.alluvium.flink;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.util.FileUtils;

/** The local directory of one keyed backend; deleted when it is closed. Thread-safe. */
final class Directories implements AutoCloseable {

  private final Path root;

  Directories(Path root) throws IOException {
    this.root = root.toAbsolutePath();
    Files.createDirectories(this.root);
  }

  Path tables() {
    return root.resolve("tables");
  }

  Path blobs() {
    return root.resolve("blobs");
  }

  /** For the files of one savepoint. */
  Path savepoint(long checkpointId) {
    return root.resolve("savepoint-" + checkpointId);
  }

  @Override
  public void close() throws IOException {
    FileUtils.deleteDirectory(root.toFile());
  }
}
