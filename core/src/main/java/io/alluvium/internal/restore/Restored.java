package io.alluvium.internal.restore;

import io.alluvium.RestoreReport;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableFile;
import java.nio.file.Path;
import java.util.List;

/**
 * A table as a checkpoint left it. Whoever receives it closes the table and deletes the directory.
 *
 * @param directory where the table stands
 * @param knownFiles durable files that the table was made of and that never change, each once: what
 *     the first materialization finds again by size and checksum it need not upload (R4)
 */
public record Restored(
    Table table,
    Path directory,
    RestorePlan plan,
    RestoreReport report,
    List<TableFile> knownFiles) {

  public Restored {
    knownFiles = List.copyOf(knownFiles);
  }
}
