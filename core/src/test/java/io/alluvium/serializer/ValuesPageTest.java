package io.alluvium.serializer;

import static io.alluvium.serializer.SerializersTest.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.ListOperands;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The worked examples of {@code docs/formats/values.md} are what the code writes. */
final class ValuesPageTest {

  private static List<String> block(String name) throws IOException {
    Path page =
        Path.of(System.getProperty("alluvium.root", "..")).resolve("docs/formats/values.md");
    List<String> lines = new ArrayList<>();
    boolean inside = false;
    for (String line : Files.readAllLines(page)) {
      if (line.startsWith("```")) {
        inside = line.equals("```" + name);
      } else if (inside) {
        lines.add(line);
      }
    }
    assertThat(lines).as(name).isNotEmpty();
    return lines;
  }

  /** The bytes of a block of lines "offset bytes meaning". */
  private static byte[] documented(String name) throws IOException {
    StringBuilder hex = new StringBuilder();
    for (String line : block(name)) {
      assertThat(Integer.parseInt(line.substring(0, 4).trim())).isEqualTo(hex.length() / 2);
      hex.append(line.substring(6).split(" {2,}", 2)[0].replace(" ", ""));
    }
    return HexFormat.of().parseHex(hex);
  }

  @Test
  void key_isAsDocumented() throws IOException {
    ByteWriter key = new ByteWriter();
    KeyLayout.writeState(key, 11, KeyLayout.stateId("counts"));
    key.writeByteArray(bytes(Serializers.string(), "ann"));
    key.writeByteArray(bytes(Serializers.int64(), 42L));
    Serializers.string().write("x", key);
    assertThat(key.toByteArray()).isEqualTo(documented("key"));
  }

  @Test
  void list_isAsDocumented() throws IOException {
    ByteWriter list = new ByteWriter();
    ByteWriter elements = new ByteWriter();
    Serializers.int16().write((short) 1, elements);
    ListOperands.write(list, 7, elements);
    elements.clear();
    Serializers.int16().write((short) 2, elements);
    Serializers.int16().write((short) 3, elements);
    ListOperands.write(list, 9, elements);
    assertThat(list.toByteArray()).isEqualTo(documented("list"));
  }

  private static <T> String line(String text, Serializer<T> serializer, T value) {
    return text + "=" + HexFormat.of().formatHex(bytes(serializer, value));
  }

  @Test
  void values_areAsDocumented() throws IOException {
    List<String> documented = new ArrayList<>();
    for (String line : block("values")) {
      String[] parts = line.split(" {2,}", 2);
      documented.add(parts[0] + "=" + parts[1].replace(" ", ""));
    }
    assertThat(documented)
        .containsExactly(
            line("string \"aé😀\"", Serializers.string(), "aé😀"),
            line("bool true", Serializers.bool(), true),
            line("int8 -1", Serializers.int8(), (byte) -1),
            line("int16 258", Serializers.int16(), (short) 258),
            line("int32 1", Serializers.int32(), 1),
            line("int64 -2", Serializers.int64(), -2L),
            line("float32 -1.5", Serializers.float32(), -1.5f),
            line("float64 1.5", Serializers.float64(), 1.5),
            line("char 'é'", Serializers.character(), 'é'),
            line("bytes 1 2 3", Serializers.bytes(), new byte[] {1, 2, 3}),
            line(
                "instant 1970-01-01T00:00:01.000000002Z",
                Serializers.instant(),
                Instant.ofEpochSecond(1, 2)),
            line("duration PT-0.001S", Serializers.duration(), Duration.ofMillis(-1)),
            line("bigint -129", Serializers.bigInteger(), BigInteger.valueOf(-129)),
            line("decimal 1.20", Serializers.bigDecimal(), new BigDecimal("1.20")),
            line(
                "list of string \"a\" \"bc\"",
                Serializers.list(Serializers.string()),
                List.of("a", "bc")),
            line(
                "map of string to int16 \"k\" 1",
                Serializers.map(Serializers.string(), Serializers.int16()),
                Map.of("k", (short) 1)),
            line(
                "pair of bool and string true \"x\"",
                Serializers.pair(Serializers.bool(), Serializers.string()),
                new Pair<>(true, "x")),
            line(
                "optional of int32 empty",
                Serializers.optional(Serializers.int32()),
                Optional.empty()),
            line("optional of int32 0", Serializers.optional(Serializers.int32()), Optional.of(0)));
  }
}
