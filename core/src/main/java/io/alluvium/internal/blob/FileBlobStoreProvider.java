package io.alluvium.internal.blob;

import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.internal.files.PathText;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlobStoreProvider;
import java.net.URI;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Opens {@code file:///directory} and {@code file:relative/directory}. Thread-safe. */
public final class FileBlobStoreProvider implements BlobStoreProvider {

  @Override
  public String scheme() {
    return "file";
  }

  @Override
  public List<Option<?>> options() {
    return List.of();
  }

  @Override
  public BlobStore open(URI uri, Configuration configuration) {
    Path directory = directory(uri);
    // A relative one depends on where the process was started: messages tell the whole path.
    String shown = uri.isOpaque() ? "file://" + directory.toAbsolutePath() : uri.toString();
    return new LocalDirectoryBlobStore(directory, shown);
  }

  private static Path directory(URI uri) {
    @Nullable String host = uri.getAuthority();
    if (host != null && !host.isEmpty()) {
      throw StateBackendException.invalid(
          "'"
              + uri
              + "' names the host '"
              + host
              + "'; a directory of this machine is written file:///dir, with three slashes");
    }
    @Nullable String path = uri.isOpaque() ? uri.getSchemeSpecificPart() : uri.getPath();
    if (path == null || path.isEmpty()) {
      throw StateBackendException.invalid("'" + uri + "' names no directory");
    }
    PathText.check(uri.toString(), path);
    try {
      Path directory = Path.of(path);
      if (directory.toAbsolutePath().normalize().getNameCount() == 0) {
        throw StateBackendException.invalid(
            "'"
                + uri
                + "' is the root of the file system; name a directory below it, such as"
                + " file:///var/lib/job");
      }
      return directory;
    } catch (InvalidPathException e) {
      throw StateBackendException.of(
          StateBackendException.Kind.INVALID,
          "'" + uri + "' does not name a directory: " + e.getMessage(),
          e);
    }
  }
}
