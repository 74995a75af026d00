package io.alluvium.internal.heap;

import io.alluvium.KeyGroupRange;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableProvider;
import io.alluvium.spi.TableScan;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

/** Opens heap tables, which share only their threads. Thread-safe. */
final class HeapTables implements TableProvider.Tables {

  private final Execution execution;

  HeapTables(Execution execution) {
    this.execution = execution;
  }

  @Override
  public Table open(
      Path directory,
      KeyGroupRange keyGroups,
      List<TablePart> parts,
      Function<TablePart, TableScan> foreign) {
    HeapTable table = new HeapTable(keyGroups, execution);
    for (TablePart part : parts) {
      try (TableScan scan =
          part.format().equals(HeapCellsFormat.NAME) ? read(part) : foreign.apply(part)) {
        table.load(scan, part.keyGroups().intersect(keyGroups));
      }
    }
    return table;
  }

  @Override
  public TableScan read(TablePart part) {
    return HeapCellsReader.open(part.directory(), part.keyGroups());
  }

  @Override
  public void close() {}
}
