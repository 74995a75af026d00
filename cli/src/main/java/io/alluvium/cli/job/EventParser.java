package io.alluvium.cli.job;

import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.util.List;

/** Turns CSV rows into events. Confined to its source's thread. */
final class EventParser implements RecordParser {

  /** Beyond this, written out as a plain decimal, a number is taken for a mistake. */
  private static final int MAX_DIGITS = 1000;

  /** A quarter of the range of a long, so that windows around an event cannot overflow. */
  private static final long MAX_TIME_MILLIS = Long.MAX_VALUE / 4;

  private final int columns;
  private final String[] names;
  private final int key;
  private final int time;
  private final int value;

  EventParser(CsvHeader header, String keyColumn, String timeColumn, String valueColumn) {
    columns = header.columns().size();
    names = new String[] {keyColumn, timeColumn, valueColumn};
    key = header.indexOf(keyColumn, "--key");
    time = header.indexOf(timeColumn, "--time");
    value = header.indexOf(valueColumn, "--value");
  }

  @Override
  public void parse(byte[] buffer, int start, int end, Output out) throws BadRecordException {
    List<String> fields = CsvRow.parse(buffer, start, end);
    if (fields.size() != columns) {
      throw new BadRecordException("has " + fields.size() + " fields, the header has " + columns);
    }
    String number = fields.get(value);
    checkNumber(number);
    out.emit(fields.get(key), parseTime(fields.get(time)), number);
  }

  private void checkNumber(String text) throws BadRecordException {
    BigDecimal number;
    try {
      number = new BigDecimal(text);
    } catch (NumberFormatException e) {
      throw new BadRecordException(
          "has '" + shown(text) + "' in column '" + names[2] + "', which is not a number");
    }
    if (number.precision() > MAX_DIGITS || Math.abs((long) number.scale()) > MAX_DIGITS) {
      throw new BadRecordException(
          "has '"
              + shown(text)
              + "' in column '"
              + names[2]
              + "', which has more than "
              + MAX_DIGITS
              + " digits");
    }
  }

  private long parseTime(String text) throws BadRecordException {
    try {
      long millis = isWholeNumber(text) ? Long.parseLong(text) : parseIso(text);
      if (millis < -MAX_TIME_MILLIS || millis > MAX_TIME_MILLIS) {
        throw new ArithmeticException();
      }
      return millis;
    } catch (DateTimeException | NumberFormatException | ArithmeticException e) {
      throw new BadRecordException(
          "has '"
              + shown(text)
              + "' in column '"
              + names[1]
              + "', which is neither an ISO-8601 time nor milliseconds since the epoch");
    }
  }

  private static boolean isWholeNumber(String text) {
    for (int i = text.startsWith("-") ? 1 : 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < '0' || c > '9') {
        return false;
      }
    }
    return true;
  }

  /** A time without zone or offset is UTC, a date is its first moment. */
  private static long parseIso(String text) {
    if (text.indexOf('T') < 0) {
      return LocalDate.parse(text).atStartOfDay(ZoneOffset.UTC).toInstant().toEpochMilli();
    }
    TemporalAccessor parsed =
        DateTimeFormatter.ISO_DATE_TIME.parseBest(
            text, ZonedDateTime::from, OffsetDateTime::from, LocalDateTime::from);
    return parsed instanceof LocalDateTime local
        ? local.toInstant(ZoneOffset.UTC).toEpochMilli()
        : Instant.from(parsed).toEpochMilli();
  }

  private static String shown(String text) {
    return text.length() <= 60 ? text : text.substring(0, 60) + "...";
  }
}
