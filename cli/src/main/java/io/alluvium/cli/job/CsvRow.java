package io.alluvium.cli.job;

import io.alluvium.cli.input.IoMessages;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVRecord;

/** Reads one row of comma-separated values. Stateless. */
final class CsvRow {

  private static final CSVFormat FORMAT =
      CSVFormat.RFC4180.builder().setIgnoreEmptyLines(true).get();

  private CsvRow() {}

  /** The fields of {@code buffer[start, end)}; none when it is blank. */
  static List<String> parse(byte[] buffer, int start, int end) throws BadRecordException {
    String text = new String(buffer, start, end - start, StandardCharsets.UTF_8);
    try (CSVParser parser = CSVParser.parse(text, FORMAT)) {
      List<CSVRecord> rows = parser.getRecords();
      if (rows.size() > 1) {
        throw new BadRecordException("holds a carriage return outside of quotes");
      }
      return rows.isEmpty() ? List.of() : rows.get(0).toList();
    } catch (IOException | UncheckedIOException | IllegalStateException e) {
      throw new BadRecordException("is not CSV (" + IoMessages.of(e) + ")");
    }
  }
}
