package io.alluvium.cli.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.cli.input.InputFile;
import io.alluvium.cli.input.JobException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class EventParserTest {
  @TempDir Path dir;

  @Test
  void parse_takesTheNamedColumns() throws Exception {
    assertThat(parse("x,\"a, \"\"b\"\"\",17,2.50")).containsExactly("a, \"b\" @17 = 2.50");
  }

  @Test
  void parse_readsTimes() throws Exception {
    long expected = Instant.parse("2013-01-01T10:00:00Z").toEpochMilli();
    for (String time :
        new String[] {
          "2013-01-01T10:00:00Z",
          "2013-01-01T11:00:00+01:00",
          "2013-01-01T10:00:00",
          "2013-01-01T10:00",
          "2013-01-01T10:00:00.0004Z",
          Long.toString(expected)
        }) {
      assertThat(parse("x,k," + time + ",1")).as(time).containsExactly("k @" + expected + " = 1");
    }
    assertThat(parse("x,k,1970-01-02,1")).containsExactly("k @86400000 = 1");
    assertThat(parse("x,k,-5,1")).containsExactly("k @-5 = 1");
    assertThat(parse("x,k,1969-12-31T23:59:59.999Z,1")).containsExactly("k @-1 = 1");
  }

  @Test
  void parse_malformedRow_saysWhatIsWrong() {
    assertBad("x,k,17", "has 3 fields, the header has 4");
    assertBad("x,k,17,1,2", "has 5 fields, the header has 4");
    assertBad("x,k,17,NA", "has 'NA' in column 'v', which is not a number");
    assertBad("x,k,17,", "has '' in column 'v', which is not a number");
    assertBad("x,k,17,NaN", "has 'NaN' in column 'v', which is not a number");
    assertBad(
        "x,k,17,1e999999999", "has '1e999999999' in column 'v', which has more than 1000 digits");
    assertBad(
        "x,k,yesterday,1",
        "has 'yesterday' in column 't', which is neither an ISO-8601 time nor milliseconds since the"
            + " epoch");
    assertBad(
        "x,k,9223372036854775807,1",
        "has '9223372036854775807' in column 't', which is neither an ISO-8601 time nor milliseconds"
            + " since the epoch");
    assertBad(
        "x,k,,1",
        "has '' in column 't', which is neither an ISO-8601 time nor milliseconds since the epoch");
    assertBad(
        "x,k,-,1",
        "has '-' in column 't', which is neither an ISO-8601 time nor milliseconds since the epoch");
    assertBad(
        "x,\"k\"y,17,1", "is not CSV (Invalid character between encapsulated token and delimiter");
    assertBad("x,\"k,17,1", "is not CSV (");
  }

  @Test
  void header_missingColumn_namesThoseThereAre() throws IOException {
    InputFile file = file("a,b\n1,2\n");
    assertThatThrownBy(() -> new EventParser(CsvHeader.read(file), "a", "time", "b"))
        .isInstanceOf(JobException.class)
        .hasMessage(
            "--time names the column 'time', which '"
                + file.path()
                + "' does not have; its columns are a, b");
  }

  @Test
  void header_byteOrderMark_isNoPartOfTheName() throws IOException {
    CsvHeader header = CsvHeader.read(file("\uFEFFa,b\r\n1,2\n"));
    assertThat(header.columns()).containsExactly("a", "b");
    assertThat(header.sizeBytes()).isEqualTo(8);
  }

  @Test
  void header_emptyFile_isRefused() throws IOException {
    InputFile file = file("");
    assertThatThrownBy(() -> CsvHeader.read(file))
        .isInstanceOf(JobException.class)
        .hasMessageContaining("is empty; a CSV file needs a header");
  }

  private void assertBad(String row, String message) {
    assertThatThrownBy(() -> parse(row))
        .as(row)
        .isInstanceOf(BadRecordException.class)
        .hasMessageStartingWith(message);
  }

  private List<String> parse(String row) throws Exception {
    EventParser parser = new EventParser(CsvHeader.read(file("x,k,t,v\n")), "k", "t", "v");
    byte[] bytes = row.getBytes(StandardCharsets.UTF_8);
    List<String> events = new ArrayList<>();
    parser.parse(
        bytes,
        0,
        bytes.length,
        (key, time, value) -> events.add(key + " @" + time + " = " + value));
    return events;
  }

  private InputFile file(String text) throws IOException {
    return new InputFile("a.csv", Files.writeString(dir.resolve("a.csv"), text));
  }
}
