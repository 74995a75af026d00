package io.alluvium.serializer;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

final class SerializersTest {

  enum Color {
    RED,
    GREEN,
    BLUE
  }

  enum MoreColors {
    RED,
    GREEN,
    BLUE,
    BLACK
  }

  enum OtherOrder {
    BLUE,
    WHITE,
    RED,
    GREEN
  }

  enum FewerColors {
    RED,
    BLUE
  }

  static <T> byte[] bytes(Serializer<T> serializer, T value) {
    ByteWriter out = new ByteWriter(0);
    serializer.write(value, out);
    return out.toByteArray();
  }

  /** Reads one value from the middle of an array and checks that exactly its bytes were read. */
  static <T> T readWhole(Serializer<T> serializer, byte[] bytes) {
    byte[] padded = new byte[bytes.length + 10];
    Arrays.fill(padded, (byte) 0xee);
    System.arraycopy(bytes, 0, padded, 5, bytes.length);
    ByteReader in = new ByteReader(padded, 5, bytes.length);
    T value = serializer.read(in);
    assertThat(in.remaining()).isZero();
    return value;
  }

  private static <T> void assertGolden(Serializer<T> serializer, T value, String hex) {
    byte[] bytes = bytes(serializer, value);
    assertThat(HexFormat.of().formatHex(bytes)).isEqualTo(hex.replace(" ", ""));
    assertThat(readWhole(serializer, bytes)).isEqualTo(value);
    for (int length = 0; length < bytes.length; length++) {
      byte[] torn = Arrays.copyOf(bytes, length);
      assertThatThrownBy(() -> serializer.read(new ByteReader(torn)))
          .isInstanceOf(StateBackendException.class)
          .satisfies(e -> assertThat(((StateBackendException) e).kind()).isEqualTo(Kind.CORRUPT));
    }
  }

  @Test
  void write_simpleTypes_giveGoldenBytes() {
    assertGolden(Serializers.string(), "", "00");
    assertGolden(Serializers.string(), "aé€😀", "0a 61 c3a9 e282ac f09f9880");
    assertGolden(Serializers.bool(), true, "01");
    assertGolden(Serializers.bool(), false, "00");
    assertGolden(Serializers.int8(), (byte) -1, "7f");
    assertGolden(Serializers.int16(), (short) 258, "8102");
    assertGolden(Serializers.int32(), 1, "80000001");
    assertGolden(Serializers.int32(), Integer.MIN_VALUE, "00000000");
    assertGolden(Serializers.int64(), -2L, "7ffffffffffffffe");
    assertGolden(Serializers.float32(), 1.5f, "bfc00000");
    assertGolden(Serializers.float32(), -1.5f, "403fffff");
    assertGolden(Serializers.float64(), Double.NaN, "fff8000000000000");
    assertGolden(Serializers.float64(), -0.0, "7fffffffffffffff");
    assertGolden(Serializers.character(), 'é', "00e9");
    assertGolden(Serializers.bytes(), new byte[] {1, 2, 3}, "03 010203");
    assertGolden(
        Serializers.uuid(),
        UUID.fromString("00112233-4455-6677-8899-aabbccddeeff"),
        "00112233445566778899aabbccddeeff");
    assertGolden(
        Serializers.instant(),
        Instant.parse("1970-01-01T00:00:01.000000002Z"),
        "8000000000000001 00000002");
    assertGolden(Serializers.duration(), Duration.ofMillis(-1), "7fffffffffffffff 3b8b87c0");
    assertGolden(Serializers.bigInteger(), BigInteger.valueOf(-129), "02 ff7f");
    assertGolden(Serializers.bigDecimal(), new BigDecimal("1.20"), "00000002 01 78");
  }

  @Test
  void write_compositeTypes_giveGoldenBytes() {
    assertGolden(Serializers.list(Serializers.string()), List.of("a", "bc"), "02 0161 026263");
    assertGolden(
        Serializers.set(Serializers.int8()),
        new LinkedHashSet<>(List.of((byte) 2, (byte) 1)),
        "02 82 81");
    assertGolden(
        Serializers.map(Serializers.string(), Serializers.int16()),
        new LinkedHashMap<>(Map.ofEntries(entry("k", (short) 1))),
        "01 016b 8001");
    assertGolden(
        Serializers.pair(Serializers.bool(), Serializers.string()),
        new Pair<>(true, "x"),
        "01 0178");
    assertGolden(Serializers.optional(Serializers.int32()), Optional.of(0), "01 80000000");
    assertGolden(Serializers.optional(Serializers.int32()), Optional.empty(), "00");
    assertGolden(Serializers.enumOf(Color.class), Color.BLUE, "02");
  }

  @Test
  void goldenSnapshots() {
    assertSnapshot(Serializers.string(), "06 737472696e67 01 00", "string v1");
    assertSnapshot(
        Serializers.list(Serializers.int32()),
        "04 6c697374 01 08 05 696e743332 01 00",
        "list v1 (int32 v1)");
    assertSnapshot(
        Serializers.map(Serializers.int8(), Serializers.int8()),
        "03 6d6170 01 0e 04 696e7438 01 00 04 696e7438 01 00",
        "map v1 (int8 v1, int8 v1)");
    String name = Color.class.getName();
    assertSnapshot(
        Serializers.enumOf(Color.class),
        "04 656e756d 01"
            + hex(1 + name.length() + 1 + 4 + 6 + 5)
            + hex(name.length())
            + HexFormat.of().formatHex(name.getBytes(java.nio.charset.StandardCharsets.UTF_8))
            + "03 03 524544 05 475245454e 04 424c5545",
        "enum v1 " + name + "(RED, GREEN, BLUE)");
  }

  private static String hex(int number) {
    return String.format("%02x", number);
  }

  private static void assertSnapshot(Serializer<?> serializer, String hex, String text) {
    ByteWriter out = new ByteWriter();
    serializer.snapshot().write(out);
    assertThat(HexFormat.of().formatHex(out.toByteArray())).isEqualTo(hex.replace(" ", ""));
    assertThat(serializer.snapshot()).hasToString(text);
  }

  @Test
  void snapshotToString_foreignOrDamagedSchema_isHexadecimal() {
    assertThat(new SerializerSnapshot("mine", 3, new byte[] {1, (byte) 0xff}))
        .hasToString("mine v3 01ff");
    assertThat(new SerializerSnapshot("list", 1, new byte[] {9})).hasToString("list v1 09");
    assertThat(new SerializerSnapshot("record", 2, new byte[] {9})).hasToString("record v2 09");
  }

  @Test
  void writeThenRead_stringOfAnyUnits_givesEqualString() {
    Random random = new Random(7);
    char[] alphabet = {
      'a', 'z', 0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfffd,
      0xffff
    };
    List<String> seen = new ArrayList<>(List.of("\ud800", "\udc00\ud800", "?", "\ufffd"));
    for (int i = 0; i < 20_000; i++) {
      StringBuilder text = new StringBuilder();
      for (int length = random.nextInt(8); length > 0; length--) {
        text.append(alphabet[random.nextInt(alphabet.length)]);
      }
      seen.add(text.toString());
    }
    for (String text : seen) {
      assertThat(readWhole(Serializers.string(), bytes(Serializers.string(), text)))
          .isEqualTo(text);
    }
    // Text without unpaired surrogates is stored as valid UTF-8.
    assertThat(bytes(Serializers.string(), "aé€😀x"))
        .endsWith("aé€😀x".getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }

  private static <T extends Comparable<T>> void assertSortsAsBytes(
      Serializer<T> serializer, List<T> ascending) {
    for (int i = 1; i < ascending.size(); i++) {
      assertThat(ascending.get(i)).isGreaterThanOrEqualTo(ascending.get(i - 1));
      assertThat(
              Arrays.compareUnsigned(
                  bytes(serializer, ascending.get(i - 1)), bytes(serializer, ascending.get(i))))
          .as("%s before %s", ascending.get(i - 1), ascending.get(i))
          .isNegative();
    }
  }

  @Test
  void write_numbersAndTimes_bytesSortLikeValues() {
    assertSortsAsBytes(
        Serializers.int32(), List.of(Integer.MIN_VALUE, -2, -1, 0, 1, 255, 256, Integer.MAX_VALUE));
    assertSortsAsBytes(Serializers.int64(), List.of(Long.MIN_VALUE, -1L, 0L, 1L, Long.MAX_VALUE));
    assertSortsAsBytes(Serializers.int16(), List.of((short) -32768, (short) -1, (short) 0));
    assertSortsAsBytes(Serializers.int8(), List.of((byte) -128, (byte) -1, (byte) 0, (byte) 127));
    assertSortsAsBytes(
        Serializers.float64(),
        List.of(
            Double.NEGATIVE_INFINITY,
            -Double.MAX_VALUE,
            -1.5,
            -1.0,
            -Double.MIN_VALUE,
            -0.0,
            0.0,
            Double.MIN_VALUE,
            1.0,
            Double.MAX_VALUE,
            Double.POSITIVE_INFINITY,
            Double.NaN));
    assertSortsAsBytes(
        Serializers.float32(), List.of(Float.NEGATIVE_INFINITY, -1f, -0f, 0f, 1f, Float.NaN));
    assertSortsAsBytes(
        Serializers.instant(),
        List.of(
            Instant.MIN,
            Instant.ofEpochSecond(-1, 5),
            Instant.EPOCH,
            Instant.ofEpochSecond(0, 1),
            Instant.MAX));
    assertSortsAsBytes(
        Serializers.duration(),
        List.of(Duration.ofSeconds(Long.MIN_VALUE), Duration.ofNanos(-1), Duration.ZERO));
  }

  @Test
  void read_damagedBytes_isCorrupt() {
    assertCorrupt(Serializers.bool(), "02");
    assertCorrupt(Serializers.enumOf(Color.class), "03");
    assertCorrupt(Serializers.duration(), "80000000000000003b9aca00");
    assertCorrupt(Serializers.instant(), "ffffffffffffffff00000000");
    assertCorrupt(Serializers.bigInteger(), "00");
    assertCorrupt(Serializers.list(Serializers.int8()), "ffffffff0f");
    assertCorrupt(Serializers.list(Serializers.int8()), "ffffffff07");
    assertCorrupt(Serializers.map(Serializers.int8(), Serializers.int8()), "ffffffff07");
    assertCorrupt(Serializers.string(), "ffffffff0f");
  }

  private static void assertCorrupt(Serializer<?> serializer, String hex) {
    ByteReader in = new ByteReader(HexFormat.of().parseHex(hex));
    assertThatThrownBy(() -> serializer.read(in))
        .isInstanceOf(StateBackendException.class)
        .satisfies(e -> assertThat(((StateBackendException) e).kind()).isEqualTo(Kind.CORRUPT));
  }

  /**
   * Reads {@code value}, written by {@code old}, through {@code now}; empty if {@code now} cannot
   * read it.
   */
  private static <A, B> Optional<B> migrate(Serializer<A> old, A value, Serializer<B> now) {
    Optional<Serializer<B>> reader = now.readerOf(old.snapshot());
    reader.ifPresent(
        found -> {
          if (found != now) {
            assertThat(found.snapshot()).isIn(old.snapshot(), now.snapshot());
          }
        });
    return reader.map(found -> readWhole(found, bytes(old, value)));
  }

  @Test
  void readerOf_ownFormat_isItself() {
    for (Serializer<?> serializer :
        List.of(
            Serializers.string(),
            Serializers.int64(),
            Serializers.list(Serializers.pair(Serializers.uuid(), Serializers.bytes())),
            Serializers.map(Serializers.string(), Serializers.optional(Serializers.int32())),
            Serializers.enumOf(Color.class))) {
      assertThat(serializer.readerOf(serializer.snapshot()))
          .hasValueSatisfying(reader -> assertThat(reader).isSameAs(serializer));
      SerializerSnapshot own = serializer.snapshot();
      assertThat(serializer.readerOf(new SerializerSnapshot(own.id(), 2, own.schema()))).isEmpty();
    }
  }

  @Test
  void readerOf_narrowerNumber_widens() {
    assertThat(migrate(Serializers.int8(), (byte) -3, Serializers.int64())).contains(-3L);
    assertThat(migrate(Serializers.int16(), (short) -3, Serializers.int32())).contains(-3);
    assertThat(migrate(Serializers.int32(), 70_000, Serializers.int64())).contains(70_000L);
    assertThat(migrate(Serializers.float32(), 1.5f, Serializers.float64())).contains(1.5);
    assertThat(migrate(Serializers.int64(), 1L, Serializers.int32())).isEmpty();
    assertThat(migrate(Serializers.int32(), 1, Serializers.float64())).isEmpty();
  }

  @Test
  void readerOf_collection_followsItsElements() {
    assertThat(
            migrate(
                Serializers.list(Serializers.int32()),
                List.of(1, 2),
                Serializers.list(Serializers.int64())))
        .contains(List.of(1L, 2L));
    assertThat(
            migrate(
                Serializers.map(Serializers.string(), Serializers.set(Serializers.int8())),
                Map.of("k", Set.of((byte) 1)),
                Serializers.map(Serializers.string(), Serializers.set(Serializers.int16()))))
        .contains(Map.of("k", Set.of((short) 1)));
    assertThat(
            migrate(
                Serializers.optional(
                    Serializers.pair(Serializers.int32(), Serializers.enumOf(Color.class))),
                Optional.of(new Pair<>(1, Color.GREEN)),
                Serializers.optional(
                    Serializers.pair(Serializers.int64(), Serializers.enumOf(OtherOrder.class)))))
        .contains(Optional.of(new Pair<>(1L, OtherOrder.GREEN)));
    assertThat(
            migrate(
                Serializers.list(Serializers.string()),
                List.of(""),
                Serializers.list(Serializers.int64())))
        .isEmpty();
    assertThat(
            migrate(
                Serializers.list(Serializers.string()),
                List.of(""),
                Serializers.set(Serializers.string())))
        .isEmpty();
  }

  @Test
  void readerOf_enum_matchesConstantsByName() {
    Serializer<Color> old = Serializers.enumOf(Color.class);
    Serializer<MoreColors> more = Serializers.enumOf(MoreColors.class);
    assertThat(more.readerOf(old.snapshot()))
        .hasValueSatisfying(reader -> assertThat(reader).isSameAs(more));
    for (Color color : Color.values()) {
      assertThat(migrate(old, color, Serializers.enumOf(OtherOrder.class)))
          .contains(OtherOrder.valueOf(color.name()));
    }
    assertThat(migrate(old, Color.RED, Serializers.enumOf(FewerColors.class))).isEmpty();
  }
}
