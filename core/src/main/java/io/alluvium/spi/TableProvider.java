package io.alluvium.spi;

import io.alluvium.KeyGroupRange;
import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

/**
 * Opens tables under one value of {@code state.backend.type}; found through {@link
 * java.util.ServiceLoader}.
 */
public interface TableProvider {

  /** For example {@code rocksdb} or {@code heap}. */
  String name();

  /**
   * Names the format of the files in a snapshot, with its version; stored in every materialization.
   */
  String format();

  /** The options that this provider reads. */
  List<Option<?>> options();

  /** What the tables of one process share (caches, memory budget); closed after its tables. */
  Tables open(Configuration configuration, Execution execution, Metrics metrics);

  /** All tables of one process. Thread-safe. */
  interface Tables extends AutoCloseable {

    /**
     * Opens a table over what was restored.
     *
     * @param directory of the table's own; absent or empty
     * @param keyGroups of the backend; whatever the parts hold outside is dropped
     * @param parts restored files, possibly none, possibly of several parents after a rescale,
     *     possibly of another format
     * @param foreign reads a part of another format, by its format name
     */
    Table open(
        Path directory,
        KeyGroupRange keyGroups,
        List<TablePart> parts,
        Function<TablePart, TableScan> foreign);

    /**
     * Reads every entry of a part in this provider's format within its key groups, ascending,
     * without opening a table over it.
     */
    TableScan read(TablePart part);

    @Override
    void close();
  }
}
