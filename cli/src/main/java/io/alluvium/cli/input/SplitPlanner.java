package io.alluvium.cli.input;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/**
 * Cuts input files into splits at the borders of records, independently of any parallelism.
 * Confined to one thread.
 *
 * <p>Every file is read once from its start: only so are the borders of rows with line feeds within
 * quotes known, and the numbers of lines for messages. A file of up to about 16 MB is one split,
 * read in its own order. The watermark of a windowed job is the minimum over all splits, so all of
 * them are read in turns, and there are not many of them.
 */
public final class SplitPlanner {

  private static final long MIN_SPLIT_BYTES = 16 << 20;
  private static final int TARGET_SPLITS = 16;

  private final List<InputFile> files;
  private final RecordFormat format;
  private final long splitBytes;
  private final List<Split> splits = new ArrayList<>();

  private SplitPlanner(List<InputFile> files, RecordFormat format, long splitBytes) {
    this.files = files;
    this.format = format;
    this.splitBytes = splitBytes;
  }

  /**
   * The splits of all files, in order; none for an empty file.
   *
   * @param headerBytes for each file, how many bytes at its start are no records
   */
  public static List<Split> plan(
      List<InputFile> files, RecordFormat format, List<Long> headerBytes) {
    long total = 0;
    for (InputFile file : files) {
      total += sizeOf(file);
    }
    return plan(files, format, headerBytes, Math.max(MIN_SPLIT_BYTES, total / TARGET_SPLITS));
  }

  static List<Split> plan(
      List<InputFile> files, RecordFormat format, List<Long> headerBytes, long splitBytes) {
    SplitPlanner planner = new SplitPlanner(files, format, splitBytes);
    for (int i = 0; i < files.size(); i++) {
      planner.cut(i, headerBytes.get(i));
    }
    return planner.splits;
  }

  private static long sizeOf(InputFile file) {
    try {
      return Files.size(file.path());
    } catch (IOException e) {
      throw InputFiles.cannotRead(file, e);
    }
  }

  private void cut(int index, long headerBytes) {
    InputFile file = files.get(index);
    long size = sizeOf(file);
    RecordChunk chunk = new RecordChunk(format);
    long line = 1;
    if (headerBytes > 0) {
      chunk.load(file, 0, headerBytes, 1);
      while (chunk.next()) {
        line = chunk.nextLine();
      }
    }
    long offset = headerBytes;
    long start = offset;
    long startLine = line;
    while (offset < size) {
      chunk.load(file, offset, size, line);
      while (chunk.next()) {
        offset = chunk.nextOffset();
        line = chunk.nextLine();
        // A small remainder joins the split before it.
        if (offset - start >= splitBytes && size - offset >= splitBytes / 2) {
          splits.add(new Split(index, start, offset, startLine));
          start = offset;
          startLine = line;
        }
      }
    }
    if (start < size) {
      splits.add(new Split(index, start, size, startLine));
    }
  }
}
