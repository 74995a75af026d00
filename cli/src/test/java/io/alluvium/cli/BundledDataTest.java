package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;

/** The data that the jar carries is what its README says. */
final class BundledDataTest {
  @Test
  void kjv_isTheTextOfTheReadme() throws Exception {
    byte[] text = read("data/kjv.txt.gz");
    assertThat(sha256(text))
        .isEqualTo("b5c4940bcfeee072c0935b5200d0f9d88a00a0199cb0961d16133458fcdfae5d");

    List<String> verses = lines(text);
    assertThat(verses).hasSize(31_102);
    assertThat(verses.get(0)).isEqualTo("In the beginning God created the heaven and the earth.");
    assertThat(verses.get(verses.size() - 1))
        .isEqualTo("The grace of our Lord Jesus Christ be with you all. Amen.");
  }

  @Test
  void flights_areTheTableOfTheReadme() throws Exception {
    byte[] text = read("data/flights.csv.gz");
    assertThat(sha256(text))
        .isEqualTo("e73c31df5f585b76f31e9e53435e08c4a4e18484a0d65479370570470c4fd224");

    List<String> rows = lines(text);
    assertThat(rows).hasSize(1 + 100_000);
    assertThat(rows.get(0))
        .startsWith("year,month,day,")
        .endsWith(",distance,hour,minute,time_hour");
  }

  private static byte[] read(String name) throws IOException {
    try (InputStream in = BundledDataTest.class.getResourceAsStream(name)) {
      assertThat(in).as(name).isNotNull();
      return new GZIPInputStream(in).readAllBytes();
    }
  }

  private static List<String> lines(byte[] text) {
    return new String(text, StandardCharsets.UTF_8).lines().toList();
  }

  private static String sha256(byte[] bytes) throws NoSuchAlgorithmException {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
  }
}
