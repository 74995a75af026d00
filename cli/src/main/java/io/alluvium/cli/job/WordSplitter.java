package io.alluvium.cli.job;

import io.alluvium.cli.input.Position;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Splits a line of UTF-8 into words: maximal runs of letters and digits, in lower case. Bytes that
 * are no UTF-8 separate words. Stateless.
 */
final class WordSplitter implements RecordParser {

  @Override
  public void parse(byte[] buffer, int start, int end, Output out) {
    String line = new String(buffer, start, end - start, StandardCharsets.UTF_8);
    int wordStart = -1;
    int i = 0;
    while (i < line.length()) {
      int codePoint = line.codePointAt(i);
      if (Character.isLetterOrDigit(codePoint)) {
        if (wordStart < 0) {
          wordStart = i;
        }
      } else if (wordStart >= 0) {
        out.emit(line.substring(wordStart, i).toLowerCase(Locale.ROOT), Position.NO_TIME, "");
        wordStart = -1;
      }
      i += Character.charCount(codePoint);
    }
    if (wordStart >= 0) {
      out.emit(line.substring(wordStart).toLowerCase(Locale.ROOT), Position.NO_TIME, "");
    }
  }
}
