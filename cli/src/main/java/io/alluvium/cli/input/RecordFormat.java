package io.alluvium.cli.input;

/**
 * How a file divides into records, found in its bytes alone, so that a split can begin at any
 * record's border. Stateless.
 */
public enum RecordFormat {
  /** Lines, ended by a line feed; the last one may lack it. */
  LINES {
    @Override
    int endOf(byte[] buffer, int from, int to, boolean atEnd) {
      int end = lineEnd(buffer, from, to);
      return end < 0 && atEnd ? to : end;
    }
  },

  /**
   * Rows of comma-separated values after a header; a field in quotes may hold line feeds (RFC
   * 4180). A quote that is not closed within {@value #MAX_QUOTED_BYTES} bytes does not swallow the
   * rest of the file: its row is the physical line it stands in.
   */
  CSV {
    @Override
    int endOf(byte[] buffer, int from, int to, boolean atEnd) {
      int firstLineEnd = lineEnd(buffer, from, to);
      CsvState state = CsvState.FIELD_START;
      for (int i = from; i < to; i++) {
        if (state == CsvState.QUOTED && i - from >= MAX_QUOTED_BYTES && firstLineEnd >= 0) {
          return firstLineEnd;
        }
        if (buffer[i] == '\n' && state != CsvState.QUOTED) {
          return i + 1;
        }
        state = state.after(buffer[i]);
      }
      boolean quoted = state == CsvState.QUOTED;
      if (!atEnd) {
        return -1;
      }
      return quoted && firstLineEnd >= 0 ? firstLineEnd : to;
    }
  };

  private static final int MAX_QUOTED_BYTES = 1 << 20;

  /**
   * The end of the record that starts at {@code from}, its line feed included.
   *
   * @param to end of the bytes at hand
   * @param atEnd whether nothing follows them
   * @return an index into the buffer, or -1 when more bytes are needed
   */
  abstract int endOf(byte[] buffer, int from, int to, boolean atEnd);

  private static int lineEnd(byte[] buffer, int from, int to) {
    for (int i = from; i < to; i++) {
      if (buffer[i] == '\n') {
        return i + 1;
      }
    }
    return -1;
  }

  /** Where in a row the scan stands. */
  private enum CsvState {
    FIELD_START,
    UNQUOTED,
    QUOTED,
    /** Behind a quote within quotes: the field's end, or the first half of a doubled quote. */
    QUOTE;

    CsvState after(byte b) {
      return switch (this) {
        case QUOTED -> b == '"' ? QUOTE : QUOTED;
        case QUOTE -> b == '"' ? QUOTED : unquoted(b);
        case FIELD_START -> b == '"' ? QUOTED : unquoted(b);
        case UNQUOTED -> unquoted(b);
      };
    }

    private static CsvState unquoted(byte b) {
      return b == ',' ? FIELD_START : UNQUOTED;
    }
  }
}
