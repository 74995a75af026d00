package io.alluvium.cli.input;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class RecordFormatTest {
  @Test
  void lines_endAtLineFeeds_andTheLastAtTheEnd() {
    assertThat(records(RecordFormat.LINES, "a\n\nb\r\nc"))
        .containsExactly("a\n", "\n", "b\r\n", "c");
  }

  @Test
  void csv_fieldInQuotes_mayHoldLineFeeds() {
    assertThat(records(RecordFormat.CSV, "a,\"b\nc\",d\ne,f,g\n"))
        .containsExactly("a,\"b\nc\",d\n", "e,f,g\n");
  }

  @Test
  void csv_doubledQuote_staysInside() {
    assertThat(records(RecordFormat.CSV, "\"say \"\"hi\n\"\"\",b\nc\n"))
        .containsExactly("\"say \"\"hi\n\"\"\",b\n", "c\n");
  }

  @Test
  void csv_quoteInsideAnUnquotedField_isAnOrdinaryByte() {
    assertThat(records(RecordFormat.CSV, "5\" pipe,x\"\",\"y\"\nz\n"))
        .containsExactly("5\" pipe,x\"\",\"y\"\n", "z\n");
  }

  @Test
  void csv_quoteNeverClosed_takesOnlyItsLine() {
    assertThat(records(RecordFormat.CSV, "a,\"b\nc,d\ne,f\n"))
        .containsExactly("a,\"b\n", "c,d\n", "e,f\n");
  }

  @Test
  void csv_quoteClosedFarAway_takesOnlyItsLine() {
    String far = "x,y\n".repeat(400_000);
    List<String> records = records(RecordFormat.CSV, "a,\"b\n" + far + "\"\n");
    assertThat(records.subList(0, 3)).containsExactly("a,\"b\n", "x,y\n", "x,y\n");
  }

  @Test
  void endOf_recordNotWhole_asksForMore() {
    byte[] bytes = "a,\"b\nc".getBytes(StandardCharsets.UTF_8);
    assertThat(RecordFormat.CSV.endOf(bytes, 0, bytes.length, false)).isEqualTo(-1);
    assertThat(RecordFormat.LINES.endOf(bytes, 5, bytes.length, false)).isEqualTo(-1);
  }

  private static List<String> records(RecordFormat format, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    List<String> records = new ArrayList<>();
    int at = 0;
    while (at < bytes.length) {
      int end = format.endOf(bytes, at, bytes.length, true);
      records.add(new String(bytes, at, end - at, StandardCharsets.UTF_8));
      at = end;
    }
    return records;
  }
}
