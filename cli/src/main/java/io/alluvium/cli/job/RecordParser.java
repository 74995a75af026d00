package io.alluvium.cli.job;

/** Turns the bytes of one record into keyed elements. Confined to its source's thread. */
public interface RecordParser {

  /** Takes what a record holds. */
  interface Output {
    /**
     * Takes one element.
     *
     * @param timeMillis event time; {@code Position.NO_TIME} in a job without event time
     */
    void emit(String key, long timeMillis, String value);
  }

  /** Parses {@code buffer[start, end)}, the line end left out. */
  void parse(byte[] buffer, int start, int end, Output out) throws BadRecordException;
}
