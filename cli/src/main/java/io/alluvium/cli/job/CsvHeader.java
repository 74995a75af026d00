package io.alluvium.cli.job;

import io.alluvium.cli.input.InputFile;
import io.alluvium.cli.input.IoMessages;
import io.alluvium.cli.input.JobException;
import io.alluvium.cli.input.RecordChunk;
import io.alluvium.cli.input.RecordFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;

/**
 * The first row of a CSV file. Immutable.
 *
 * @param file for messages
 * @param columns names in order
 * @param sizeBytes of the row in the file, its line end included
 */
record CsvHeader(InputFile file, List<String> columns, long sizeBytes) {

  static CsvHeader read(InputFile file) {
    long size;
    try {
      size = Files.size(file.path());
    } catch (IOException e) {
      throw new JobException("input '" + file.path() + "' cannot be read: " + IoMessages.of(e), e);
    }
    RecordChunk chunk = new RecordChunk(RecordFormat.CSV);
    chunk.load(file, 0, size, 1);
    if (!chunk.next()) {
      throw new JobException(
          "input '" + file.path() + "' is empty; a CSV file needs a header that names its columns");
    }
    try {
      List<String> columns = CsvRow.parse(chunk.buffer(), chunk.start(), chunk.end());
      if (columns.isEmpty()) {
        throw new BadRecordException("is empty");
      }
      return new CsvHeader(file, withoutByteOrderMark(columns), chunk.nextOffset());
    } catch (BadRecordException e) {
      throw new JobException(
          "the header of '" + file.path() + "' " + e.getMessage() + "; it must name the columns",
          e);
    }
  }

  private static List<String> withoutByteOrderMark(List<String> columns) {
    if (!columns.get(0).startsWith("\uFEFF")) {
      return columns;
    }
    List<String> clean = new java.util.ArrayList<>(columns);
    clean.set(0, columns.get(0).substring(1));
    return clean;
  }

  /**
   * Where a column stands, counted from 0.
   *
   * @param option that names it, for the message
   */
  int indexOf(String column, String option) {
    int index = columns.indexOf(column);
    if (index < 0) {
      throw new JobException(
          option
              + " names the column '"
              + column
              + "', which '"
              + file.path()
              + "' does not have; its columns are "
              + String.join(", ", columns));
    }
    if (columns.lastIndexOf(column) != index) {
      throw new JobException(
          option + " names the column '" + column + "', which '" + file.path() + "' has twice");
    }
    return index;
  }
}
