package io.alluvium.cli.job;

/** Text in tab-separated output. Stateless. */
final class Tsv {

  private Tsv() {}

  /** A field never breaks its line: backslash, tab and line ends are written as escapes. */
  static String escape(String field) {
    if (field.chars().noneMatch(c -> c == '\\' || c == '\t' || c == '\n' || c == '\r')) {
      return field;
    }
    return field
        .replace("\\", "\\\\")
        .replace("\t", "\\t")
        .replace("\n", "\\n")
        .replace("\r", "\\r");
  }
}
