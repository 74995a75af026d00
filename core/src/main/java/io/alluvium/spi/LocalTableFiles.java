package io.alluvium.spi;

import java.nio.file.Path;
import java.util.Collection;
import java.util.Optional;

/**
 * Local copies of durable table files, so that a restore on the same machine need not download them
 * (local recovery). Thread-safe.
 */
public interface LocalTableFiles {

  /**
   * The local copy of a file, if there is one with the right size and checksum. It stays until the
   * end of the restore that asks.
   */
  Optional<Path> lookup(TableFile file);

  /**
   * Keeps a file whose bytes are durable as {@code file} says; replaces one of that name. A failure
   * is a {@link io.alluvium.StateBackendException}, and only makes the next restore take longer.
   *
   * @param path stays its owner's, who changes it afterwards only if it is not immutable
   */
  void add(Path path, TableFile file);

  /** Only these will be named from now on. */
  void retain(Collection<TableFile> files);
}
