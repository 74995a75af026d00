package io.alluvium.spi;

import java.nio.file.Path;
import java.util.List;

/**
 * The files that a table wrote for a materialization; whoever asked for the snapshot deletes the
 * directory. Immutable.
 *
 * @param files all of them, empty files left out
 */
public record TableSnapshot(Path directory, List<File> files) {

  /**
   * One file of a snapshot.
   *
   * @param name local name, unique in the snapshot, restored under the same name
   * @param immutable true when a file of this name never changes in this table instance, so that
   *     what was uploaded once need not be read again (an SST); false for files that are written
   *     anew for each snapshot (MANIFEST, CURRENT)
   */
  public record File(String name, Path path, long sizeBytes, boolean immutable) {}
}
