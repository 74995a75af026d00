package io.alluvium.internal.restore;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Operation;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableProvider.Tables;
import io.alluvium.spi.TableScan;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;

/** Tables that are sorted maps; a file is a list of rows. Thread-safe. */
final class ModelTables implements Tables {

  static final String FORMAT = "model 1";

  private final TreeMap<Integer, ModelTable> opened = new TreeMap<>();
  private String refusal = "";
  private Runnable beforeApply = () -> {};

  /** The content of a file that holds some rows. */
  static byte[] file(ModelTable table) {
    ByteWriter out = new ByteWriter();
    for (Map.Entry<byte[], byte[]> row : table.rows().entrySet()) {
      out.writeByteArray(row.getKey());
      out.writeByteArray(row.getValue());
    }
    return out.toByteArray();
  }

  /** Tables opened from now on refuse changes. */
  synchronized void failApply(String reason) {
    refusal = reason;
  }

  /** Runs before each batch of changes of tables opened from now on. */
  synchronized void beforeApply(Runnable action) {
    beforeApply = action;
  }

  /** The tables opened so far, in order. */
  synchronized List<ModelTable> opened() {
    return List.copyOf(opened.values());
  }

  @Override
  public synchronized Table open(
      Path directory,
      KeyGroupRange keyGroups,
      List<TablePart> parts,
      Function<TablePart, TableScan> foreign) {
    ModelTable table = new ModelTable();
    table.refuse(refusal);
    table.beforeApply(beforeApply);
    for (TablePart part : parts) {
      KeyGroupRange taken = part.keyGroups().intersect(keyGroups);
      if (part.format().equals(FORMAT)) {
        load(part.directory(), taken, table);
      } else {
        try (TableScan rows = foreign.apply(part)) {
          while (rows.next()) {
            table.apply(Operation.PUT, rows.key().clone(), rows.value().clone());
          }
        }
      }
    }
    try {
      Files.createDirectory(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    opened.put(opened.size(), table);
    return table;
  }

  private static void load(Path directory, KeyGroupRange taken, ModelTable table) {
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.toList()) {
        ByteReader in = new ByteReader(Files.readAllBytes(file));
        while (in.remaining() > 0) {
          byte[] key = in.readByteArray();
          byte[] value = in.readByteArray();
          if (taken.contains(KeyLayout.keyGroup(key, 0))) {
            if (table.rows().containsKey(key)) {
              throw StateBackendException.internal("a row came from two files");
            }
            table.apply(Operation.PUT, key, value);
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public TableScan read(TablePart part) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {}
}
