package io.alluvium.cli;

import com.github.freva.asciitable.AsciiTable;
import java.util.List;

/** Tables for people. Stateless. */
final class Tables {

  private Tables() {}

  static String of(String[] header, List<String[]> rows) {
    return AsciiTable.builder()
        .border(AsciiTable.BASIC_ASCII_NO_DATA_SEPARATORS)
        .header(header)
        .data(rows.toArray(new String[0][]))
        .asString();
  }
}
