package io.alluvium.internal.heap;

import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.TableProvider;
import java.util.List;

/** {@code state.backend.type = heap}: the whole state on the heap. Stateless. */
public final class HeapTableProvider implements TableProvider {

  @Override
  public String name() {
    return "heap";
  }

  @Override
  public String format() {
    return HeapCellsFormat.NAME;
  }

  @Override
  public List<Option<?>> options() {
    return List.of();
  }

  @Override
  public Tables open(Configuration configuration, Execution execution, Metrics metrics) {
    return new HeapTables(execution);
  }
}
