package io.alluvium.cli.runner;

import io.alluvium.cli.job.ResultRow;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Rows to be read in order, more than fit into memory: whenever they reach a bound they are sorted
 * and written to a temporary file, a run; reading merges the runs. Filled by one thread, then read
 * by one.
 */
final class SortedRuns implements Consumer<ResultRow> {

  /** So many files are open at once at most, for each of those that are merged. */
  static final int MAX_FILES = 64;

  private static final int BUFFER_BYTES = 16 << 10;

  /** What a row takes besides its characters, about. */
  private static final int ROW_BYTES = 64;

  /** Takes rows in order. */
  interface Output {
    void row(ResultRow row) throws IOException;
  }

  private final FileSink sink;
  private final String prefix;
  private final long maxBytes;
  private final List<Path> files = new ArrayList<>();
  private List<ResultRow> rows = new ArrayList<>();
  private long bytes;
  private int filesMade;

  /**
   * @param sink says where temporary files go, and removes them
   * @param prefix of their names
   * @param maxBytes of rows held in memory, about
   */
  SortedRuns(FileSink sink, String prefix, long maxBytes) {
    this.sink = sink;
    this.prefix = prefix;
    this.maxBytes = maxBytes;
  }

  @Override
  public void accept(ResultRow row) {
    rows.add(row);
    bytes += ROW_BYTES + 2L * row.key().length();
    if (bytes >= maxBytes) {
      try {
        spill();
      } catch (IOException e) {
        throw sink.cannotWrite(e);
      }
    }
  }

  private void spill() throws IOException {
    if (files.size() == MAX_FILES) {
      Path merged = nextFile();
      try (DataOutputStream out = open(merged)) {
        mergeSources(fileSources(), row -> write(row, out));
      }
      for (Path file : files) {
        Files.delete(file);
      }
      files.clear();
      files.add(merged);
    }
    Path file = nextFile();
    Collections.sort(rows);
    try (DataOutputStream out = open(file)) {
      for (ResultRow row : rows) {
        write(row, out);
      }
    }
    files.add(file);
    rows = new ArrayList<>();
    bytes = 0;
  }

  private Path nextFile() throws IOException {
    return sink.temporaryDirectory().resolve(prefix + "-" + filesMade++);
  }

  private static DataOutputStream open(Path file) throws IOException {
    return new DataOutputStream(
        new BufferedOutputStream(Files.newOutputStream(file), BUFFER_BYTES));
  }

  private static void write(ResultRow row, DataOutputStream out) throws IOException {
    byte[] key = row.key().getBytes(StandardCharsets.UTF_8);
    out.writeInt(key.length);
    out.write(key);
    out.writeLong(row.count());
  }

  int fileCount() {
    return files.size();
  }

  /** Gives all rows in order; none is added any more. */
  static void merge(List<SortedRuns> all, Output out) throws IOException {
    List<Source> sources = new ArrayList<>();
    try {
      for (SortedRuns runs : all) {
        sources.addAll(runs.fileSources());
        Collections.sort(runs.rows);
        sources.add(new MemorySource(runs.rows.iterator()));
      }
    } catch (IOException e) {
      closeAll(sources);
      throw e;
    }
    mergeSources(sources, out);
  }

  private List<Source> fileSources() throws IOException {
    List<Source> sources = new ArrayList<>();
    try {
      for (Path file : files) {
        sources.add(new FileSource(file));
      }
    } catch (IOException e) {
      closeAll(sources);
      throw e;
    }
    return sources;
  }

  private static void mergeSources(List<? extends Source> sources, Output out) throws IOException {
    try {
      PriorityQueue<Head> heads = new PriorityQueue<>();
      for (Source source : sources) {
        addNext(source, heads);
      }
      for (Head least = heads.poll(); least != null; least = heads.poll()) {
        out.row(least.row());
        addNext(least.source(), heads);
      }
    } finally {
      closeAll(sources);
    }
  }

  private static void addNext(Source source, PriorityQueue<Head> heads) throws IOException {
    ResultRow row = source.next();
    if (row != null) {
      heads.add(new Head(row, source));
    }
  }

  private static void closeAll(List<? extends Source> sources) throws IOException {
    for (Source source : sources) {
      source.close();
    }
  }

  /** Rows in order. */
  private interface Source extends Closeable {
    /** Null at the end. */
    @Nullable ResultRow next() throws IOException;
  }

  /** The next row of a source. */
  private record Head(ResultRow row, Source source) implements Comparable<Head> {
    @Override
    public int compareTo(Head other) {
      return row.compareTo(other.row);
    }
  }

  private record MemorySource(Iterator<ResultRow> rows) implements Source {
    @Override
    public @Nullable ResultRow next() {
      return rows.hasNext() ? rows.next() : null;
    }

    @Override
    public void close() {}
  }

  private static final class FileSource implements Source {
    private final DataInputStream in;
    private long left;

    FileSource(Path file) throws IOException {
      left = Files.size(file);
      in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file), BUFFER_BYTES));
    }

    @Override
    public @Nullable ResultRow next() throws IOException {
      if (left == 0) {
        return null;
      }
      byte[] key = in.readNBytes(in.readInt());
      left -= Integer.BYTES + key.length + Long.BYTES;
      return new ResultRow(new String(key, StandardCharsets.UTF_8), in.readLong());
    }

    @Override
    public void close() throws IOException {
      in.close();
    }
  }
}
