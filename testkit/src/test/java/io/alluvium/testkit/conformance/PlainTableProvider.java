package io.alluvium.testkit.conformance;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Execution;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Operation;
import io.alluvium.spi.SortedChanges;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableProvider;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TableSnapshot;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.ModelTable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** A minimal table that passes: shows that the suite can be satisfied. Thread-safe. */
final class PlainTableProvider implements TableProvider {

  @Override
  public String name() {
    return "plain";
  }

  @Override
  public String format() {
    return "plain-1";
  }

  @Override
  public List<Option<?>> options() {
    return List.of();
  }

  @Override
  public Tables open(Configuration configuration, Execution execution, Metrics metrics) {
    return new PlainTables();
  }

  private static final class PlainTables implements Tables {
    @Override
    public Table open(
        Path directory,
        KeyGroupRange keyGroups,
        List<TablePart> parts,
        Function<TablePart, TableScan> foreign) {
      ModelTable content = new ModelTable();
      for (TablePart part : parts) {
        ModelTable each = new ModelTable();
        each.addAll(part.format().equals("plain-1") ? read(part) : foreign.apply(part));
        each.clip(part.keyGroups().intersect(keyGroups));
        content.entries().putAll(each.entries());
      }
      return new PlainTable(content);
    }

    @Override
    public TableScan read(TablePart part) {
      ModelTable content = new ModelTable();
      Path file = part.directory().resolve("content");
      try {
        ByteReader in = new ByteReader(Files.exists(file) ? Files.readAllBytes(file) : new byte[0]);
        while (in.remaining() > 0) {
          content.entries().put(in.readByteArray(), in.readByteArray());
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      content.clip(part.keyGroups());
      return content.scan();
    }

    @Override
    public void close() {}
  }

  private static final class PlainTable implements Table {
    private final ModelTable content;
    private volatile boolean closed;

    private PlainTable(ModelTable content) {
      this.content = content;
    }

    @Override
    public synchronized boolean get(byte[] key, int keyLength, ByteWriter into) {
      checkOpen();
      byte[] value = content.entries().get(Arrays.copyOf(key, keyLength));
      if (value == null) {
        return false;
      }
      into.clear();
      into.writeBytes(value);
      return true;
    }

    @Override
    public void put(byte[] key, int keyLength, byte[] value, int valueLength) {
      apply(Operation.PUT, key, keyLength, value, valueLength);
    }

    @Override
    public void delete(byte[] key, int keyLength) {
      apply(Operation.DELETE, key, keyLength, key, 0);
    }

    @Override
    public void deleteRange(byte[] prefix, int prefixLength) {
      apply(Operation.DELETE_RANGE, prefix, prefixLength, prefix, 0);
    }

    @Override
    public void merge(byte[] key, int keyLength, byte[] operand, int operandLength) {
      apply(Operation.MERGE, key, keyLength, operand, operandLength);
    }

    private synchronized void apply(
        Operation operation, byte[] key, int keyLength, byte[] value, int valueLength) {
      checkOpen();
      KeyLayout.keyGroup(key, 0);
      content.apply(
          new Change(
              0, operation, Arrays.copyOf(key, keyLength), Arrays.copyOf(value, valueLength)));
    }

    @Override
    public synchronized TableScan scan(byte[] prefix, int prefixLength) {
      checkOpen();
      ModelTable part = new ModelTable();
      part.entries().putAll(content.withPrefix(Arrays.copyOf(prefix, prefixLength)));
      TableScan scan = part.scan();
      return new TableScan() {
        @Override
        public boolean next() {
          checkOpen();
          return scan.next();
        }

        @Override
        public byte[] key() {
          return scan.key();
        }

        @Override
        public int keyLength() {
          return scan.keyLength();
        }

        @Override
        public byte[] value() {
          return scan.value();
        }

        @Override
        public int valueLength() {
          return scan.valueLength();
        }

        @Override
        public void close() {
          scan.close();
        }
      };
    }

    @Override
    public CompletableFuture<TableSnapshot> snapshot(Path directory) {
      return CompletableFuture.completedFuture(snapshotNow(directory));
    }

    @Override
    public synchronized TableSnapshot snapshotNow(Path directory) {
      checkOpen();
      ByteWriter out = new ByteWriter();
      content
          .entries()
          .forEach(
              (key, value) -> {
                out.writeByteArray(key);
                out.writeByteArray(value);
              });
      List<TableSnapshot.File> files = new ArrayList<>();
      try {
        Files.createDirectories(directory);
        if (out.length() > 0) {
          Path file = Files.write(directory.resolve("content"), out.toByteArray());
          files.add(new TableSnapshot.File("content", file, out.length(), false));
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return new TableSnapshot(directory, files);
    }

    @Override
    public synchronized void apply(SortedChanges changes) {
      checkOpen();
      for (byte[] prefix : changes.rangeDeletes()) {
        deleteRange(prefix, prefix.length);
      }
      while (changes.next()) {
        byte[] key =
            Arrays.copyOfRange(
                changes.keyArray(), changes.keyOffset(), changes.keyOffset() + changes.keyLength());
        byte[] value =
            Arrays.copyOfRange(
                changes.valueArray(),
                changes.valueOffset(),
                changes.valueOffset() + changes.valueLength());
        apply(changes.operation(), key, key.length, value, value.length);
      }
    }

    private void checkOpen() {
      if (closed) {
        throw StateBackendException.closed("this table is closed");
      }
    }

    @Override
    public void close() {
      closed = true;
    }
  }
}
