package io.alluvium.testkit.sim;

import io.alluvium.KeyGroupRange;
import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.SortedChanges;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableProvider;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TableSnapshot;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Adds scheduling points to the tables of another provider: before each write, after it (before the
 * change is logged and published), and around a snapshot. A simulation can then produce snapshots
 * that hold an unknown part of later changes. A test module registers it as {@code
 * yielding-<name>}. Without a simulation, the tables are used unchanged. Thread-safe.
 */
public abstract class YieldingTableProvider implements TableProvider {

  private static final String PREFIX = "yielding-";

  private final String delegateName;

  protected YieldingTableProvider(String delegateName) {
    this.delegateName = delegateName;
  }

  private TableProvider delegate() {
    for (TableProvider provider :
        ServiceLoader.load(TableProvider.class, getClass().getClassLoader())) {
      if (provider.name().equals(delegateName)) {
        return provider;
      }
    }
    throw new IllegalStateException("there is no table provider '" + delegateName + "'");
  }

  @Override
  public final String name() {
    return PREFIX + delegateName;
  }

  @Override
  public final String format() {
    return PREFIX + delegate().format();
  }

  @Override
  public final List<Option<?>> options() {
    return delegate().options();
  }

  @Override
  public final Tables open(Configuration configuration, Execution execution, Metrics metrics) {
    return new YieldingTables(
        delegate().open(configuration, execution, metrics), delegate().format(), execution);
  }

  private record YieldingTables(Tables tables, String format, Execution execution)
      implements Tables {

    @Override
    public Table open(
        Path directory,
        KeyGroupRange keyGroups,
        List<TablePart> parts,
        Function<TablePart, TableScan> foreign) {
      Table table =
          tables.open(
              directory,
              keyGroups,
              parts.stream().map(this::inner).toList(),
              part -> foreign.apply(outer(part)));
      return execution instanceof SimulatedExecution simulated
          ? new YieldingTable(table, simulated)
          : table;
    }

    @Override
    public TableScan read(TablePart part) {
      return tables.read(inner(part));
    }

    /** The part with the format name of the other provider. */
    private TablePart inner(TablePart part) {
      String inner =
          part.format().equals(PREFIX + format)
              ? format
              : part.format().equals(format) ? PREFIX + format : part.format();
      return new TablePart(inner, part.directory(), part.keyGroups());
    }

    private TablePart outer(TablePart part) {
      return inner(part);
    }

    @Override
    public void close() {
      tables.close();
    }
  }

  private record YieldingTable(Table table, SimulatedExecution execution) implements Table {

    @Override
    public boolean get(byte[] key, int keyLength, ByteWriter into) {
      return table.get(key, keyLength, into);
    }

    @Override
    public void put(byte[] key, int keyLength, byte[] value, int valueLength) {
      execution.point("table before write");
      table.put(key, keyLength, value, valueLength);
      execution.point("table written");
    }

    @Override
    public void delete(byte[] key, int keyLength) {
      execution.point("table before write");
      table.delete(key, keyLength);
      execution.point("table written");
    }

    @Override
    public void deleteRange(byte[] prefix, int prefixLength) {
      execution.point("table before write");
      table.deleteRange(prefix, prefixLength);
      execution.point("table written");
    }

    @Override
    public void merge(byte[] key, int keyLength, byte[] operand, int operandLength) {
      execution.point("table before write");
      table.merge(key, keyLength, operand, operandLength);
      execution.point("table written");
    }

    @Override
    public TableScan scan(byte[] prefix, int prefixLength) {
      return table.scan(prefix, prefixLength);
    }

    @Override
    public CompletableFuture<TableSnapshot> snapshot(Path directory) {
      execution.point("table before snapshot");
      CompletableFuture<TableSnapshot> snapshot = table.snapshot(directory);
      execution.point("table after snapshot");
      return snapshot;
    }

    @Override
    public TableSnapshot snapshotNow(Path directory) {
      return table.snapshotNow(directory);
    }

    @Override
    public void advance() {
      table.advance();
    }

    @Override
    public void apply(SortedChanges changes) {
      table.apply(changes);
    }

    @Override
    public void close() {
      table.close();
    }
  }
}
