package io.alluvium.flink.jobs;

import java.io.File;
import java.net.URI;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.FileSystemFactory;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;

/**
 * A local directory under {@code golden:}. A checkpoint's metadata names its files by absolute
 * paths; here they are those below the directory, wherever that is. Thread-safe.
 */
public final class GoldenFileSystem extends LocalFileSystem {

  static final String ROOT = "golden:///";

  private static volatile File directory = new File("no-directory-chosen");

  /** Found by Flink. */
  public static final class Factory implements FileSystemFactory {
    @Override
    public String getScheme() {
      return "golden";
    }

    @Override
    public FileSystem create(URI uri) {
      return new GoldenFileSystem();
    }
  }

  /** From now on {@link #ROOT} is this directory. */
  static void root(java.nio.file.Path chosen) {
    directory = chosen.toFile();
  }

  @Override
  public URI getUri() {
    return URI.create(ROOT);
  }

  @Override
  public File pathToFile(Path path) {
    File root = directory;
    // The status of a file has its local path.
    return path.getPath().startsWith(root.getPath())
        ? new File(path.getPath())
        : new File(root, path.getPath());
  }
}
