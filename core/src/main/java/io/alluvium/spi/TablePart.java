package io.alluvium.spi;

import io.alluvium.KeyGroupRange;
import java.nio.file.Path;

/**
 * Restored files of one materialization, all under their local names in one directory that the
 * table may take over. Immutable.
 *
 * @param format see {@link TableProvider#format()}
 * @param keyGroups what to take from it
 */
public record TablePart(String format, Path directory, KeyGroupRange keyGroups) {}
