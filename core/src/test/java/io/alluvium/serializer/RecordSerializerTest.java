package io.alluvium.serializer;

import static io.alluvium.serializer.SerializersTest.bytes;
import static io.alluvium.serializer.SerializersTest.readWhole;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

final class RecordSerializerTest {

  private record Order(long id, String customer, List<Item> items) {}

  record Item(String name, int count) {}

  record Box<T>(T content) {}

  record Everything(
      boolean flag,
      byte b,
      short s,
      int i,
      long l,
      float f,
      double d,
      char c,
      Boolean boxedFlag,
      Integer boxed,
      String text,
      UUID uuid,
      Instant at,
      Duration took,
      BigInteger big,
      BigDecimal decimal,
      SerializersTest.Color color,
      Optional<String> maybe,
      Map<String, List<Long>> lists,
      Set<? extends Short> shorts,
      Pair<String, Box<Box<Integer>>> pair) {}

  @Test
  void write_record_givesComponentsInOrder() {
    Order order = new Order(7, "Ann", List.of(new Item("nut", 2)));
    byte[] bytes = bytes(Serializers.record(Order.class), order);
    assertThat(HexFormat.of().formatHex(bytes))
        .isEqualTo("8000000000000007" + "03416e6e" + "01" + "036e7574" + "80000002");
    assertThat(readWhole(Serializers.record(Order.class), bytes)).isEqualTo(order);
  }

  @Test
  void snapshot_namesComponentsAndFormats() {
    Serializer<Order> serializer = Serializers.record(Order.class);
    assertThat(serializer.snapshot()).isEqualTo(Serializers.record(Order.class).snapshot());
    assertThat(serializer.snapshot().toString())
        .isEqualTo(
            "record v1 io.alluvium.serializer.RecordSerializerTest$Order(int64 v1 id, string v1"
                + " customer, list v1 (record v1"
                + " io.alluvium.serializer.RecordSerializerTest$Item(string v1 name, int32 v1"
                + " count)) items)");
    assertThat(HexFormat.of().formatHex(Serializers.record(Item.class).snapshot().schema()))
        .isEqualTo(
            "30"
                + HexFormat.of()
                    .formatHex(
                        Item.class.getName().getBytes(java.nio.charset.StandardCharsets.UTF_8))
                + ("02" + "046e616d65" + "06737472696e67" + "0100")
                + ("05636f756e74" + "05696e743332" + "0100"));
  }

  @Test
  void writeThenRead_everyBuiltInType_givesEqualValues() {
    Everything value =
        new Everything(
            true,
            (byte) 1,
            (short) 2,
            3,
            4,
            5f,
            6d,
            '7',
            false,
            8,
            "nine",
            new UUID(1, 2),
            Instant.EPOCH,
            Duration.ZERO,
            BigInteger.TEN,
            BigDecimal.ONE,
            SerializersTest.Color.BLUE,
            Optional.of("x"),
            Map.of("k", List.of(1L, 2L)),
            Set.of((short) 1),
            new Pair<>("p", new Box<>(new Box<>(42))));
    Serializer<Everything> serializer = Serializers.record(Everything.class);
    assertThat(readWhole(serializer, bytes(serializer, value))).isEqualTo(value);
    assertThat(serializer.readerOf(serializer.snapshot()))
        .hasValueSatisfying(reader -> assertThat(reader).isSameAs(serializer));
  }

  record Unknown(URI address) {}

  record Node(String name, List<Node> children) {}

  record Empty() {}

  @Test
  void record_unsuitableType_isInvalid() {
    assertInvalid(Unknown.class, "'address'", "java.net.URI");
    assertInvalid(Node.class, "Node", "contains itself");
    assertInvalid(Empty.class, "no components");
    assertInvalid(Box.class, "'content'", "type T");
  }

  private static void assertInvalid(Class<? extends Record> type, String... words) {
    assertThatThrownBy(() -> Serializers.record(type))
        .isInstanceOf(StateBackendException.class)
        .satisfies(
            e ->
                assertThat(((StateBackendException) e).kind())
                    .isEqualTo(StateBackendException.Kind.INVALID))
        .hasMessageContainingAll(words);
  }

  /** A user's own serializer, as the documentation shows it. */
  static final class UriSerializer implements Serializer<URI> {
    @Override
    public void write(URI value, ByteWriter out) {
      out.writeString(value.toString());
    }

    @Override
    public URI read(ByteReader in) {
      return URI.create(in.readString());
    }

    @Override
    public SerializerSnapshot snapshot() {
      return new SerializerSnapshot("com.acme.Uri", 1, new byte[0]);
    }
  }

  record Links(Unknown home, List<URI> others) {}

  @Test
  void record_otherSerializers_areUsedAtEveryDepth() {
    Serializer<Links> serializer =
        Serializers.record(Links.class, Map.of(URI.class, new UriSerializer()));
    Links links = new Links(new Unknown(URI.create("a:b")), List.of(URI.create("c:d")));
    assertThat(readWhole(serializer, bytes(serializer, links))).isEqualTo(links);
  }

  @Test
  @SuppressWarnings("NullAway") // what a caller without null checks may do
  void write_nullComponent_isInvalidAndNamed() {
    assertThatThrownBy(() -> bytes(Serializers.record(Item.class), new Item(nothing(), 1)))
        .hasMessageContainingAll("'name'", "Item", "Optional");
  }

  @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"})
  private static <T> T nothing() {
    return null;
  }

  record Positive(int number) {
    Positive {
      if (number <= 0) {
        throw new IllegalArgumentException(number + " is not positive");
      }
    }
  }

  @Test
  void read_throwingConstructor_rethrowsItsException() {
    assertThatThrownBy(() -> readWhole(Serializers.record(Positive.class), new byte[] {0, 0, 0, 0}))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("not positive");
  }

  // Versions of one record, before and after a change by its user.

  record V1(String name, int count) {}

  record Same(String name, int count) {}

  record Reordered(int count, String name) {}

  record Widened(String name, long count) {}

  record WithOptional(String name, Optional<Double> price, int count) {}

  record WithList(String name, int count, List<String> tags) {}

  record Renamed(String name, int number) {}

  record RenamedToOptional(String name, Optional<Integer> number) {}

  record Smaller(int count) {}

  private static <B extends Record> Optional<B> fromV1(Class<B> now) {
    Serializer<V1> old = Serializers.record(V1.class);
    return Serializers.record(now)
        .readerOf(old.snapshot())
        .map(reader -> readWhole(reader, bytes(old, new V1("x", 5))));
  }

  @Test
  void readerOf_olderRecord_migratesUnambiguousChanges() {
    Serializer<Same> same = Serializers.record(Same.class);
    assertThat(same.readerOf(Serializers.record(V1.class).snapshot()))
        .hasValueSatisfying(reader -> assertThat(reader).isSameAs(same));
    assertThat(fromV1(Reordered.class)).contains(new Reordered(5, "x"));
    assertThat(fromV1(Widened.class)).contains(new Widened("x", 5));
    assertThat(fromV1(WithOptional.class)).contains(new WithOptional("x", Optional.empty(), 5));
    assertThat(fromV1(Smaller.class)).contains(new Smaller(5));
    assertThat(fromV1(WithList.class)).isEmpty();
    assertThat(fromV1(Renamed.class)).isEmpty();
    assertThat(fromV1(RenamedToOptional.class)).isEmpty();
    SerializerSnapshot newer =
        new SerializerSnapshot("record", 2, Serializers.record(V1.class).snapshot().schema());
    assertThat(same.readerOf(newer)).isEmpty();
  }

  record Kept(String kept) {}

  @Test
  void readerOf_removedComponentsOfBuiltInFormats_skipsThem() {
    record Wide(Everything before, String kept, Everything after) {}
    Everything everything =
        new Everything(
            true,
            (byte) 1,
            (short) 2,
            3,
            4,
            5f,
            6d,
            '7',
            false,
            8,
            "nine",
            new UUID(1, 2),
            Instant.EPOCH,
            Duration.ZERO,
            BigInteger.TEN,
            BigDecimal.ONE,
            SerializersTest.Color.BLUE,
            Optional.of("x"),
            Map.of("k", List.of(1L, 2L)),
            Set.of((short) 1),
            new Pair<>("p", new Box<>(new Box<>(42))));
    Serializer<Wide> old = Serializers.record(Wide.class);
    Serializer<Kept> reader = Serializers.record(Kept.class).readerOf(old.snapshot()).orElseThrow();
    assertThat(readWhole(reader, bytes(old, new Wide(everything, "k", everything))))
        .isEqualTo(new Kept("k"));
  }

  @Test
  void readerOf_removedComponentOfUserFormat_isEmpty() {
    record Wide(String kept, URI gone) {}
    Serializer<Wide> old = Serializers.record(Wide.class, Map.of(URI.class, new UriSerializer()));
    assertThat(Serializers.record(Kept.class).readerOf(old.snapshot())).isEmpty();
  }

  @Test
  void write_readerOfOldFormat_throws() {
    Serializer<Reordered> reader =
        Serializers.record(Reordered.class)
            .readerOf(Serializers.record(V1.class).snapshot())
            .orElseThrow();
    assertThatThrownBy(() -> reader.write(new Reordered(1, "x"), new ByteWriter()))
        .hasMessageContaining("can only be read");
  }
}
