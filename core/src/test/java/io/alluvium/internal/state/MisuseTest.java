package io.alluvium.internal.state;

import static io.alluvium.internal.state.Texts.NUMBER;
import static io.alluvium.internal.state.Texts.TEXT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.backend.KeyContext;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.AggregateFunction;
import io.alluvium.state.AggregatingState;
import io.alluvium.state.ListState;
import io.alluvium.state.MapState;
import io.alluvium.state.ReducingState;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Nulls and faulty serializers: each is an INVALID that names the state, and nothing is stored. */
@SuppressWarnings("NullAway") // what the annotations forbid is what users do
final class MisuseTest {

  private static final KeyGroupRange ALL = new KeyGroupRange(0, 1);

  private final Bench bench = new Bench();

  @Test
  void nulls_areInvalidAndNameTheState() {
    ValueState<String> value = bench.registry.state(StateDescriptor.value("v", TEXT));
    ListState<String> list = bench.registry.state(StateDescriptor.list("l", TEXT));
    MapState<String, String> map = bench.registry.state(StateDescriptor.map("m", TEXT, TEXT));
    ReducingState<String> sum =
        bench.registry.state(StateDescriptor.reducing("r", TEXT, (a, b) -> a + b));
    AggregatingState<String, String> all =
        bench.registry.state(StateDescriptor.aggregating("a", TEXT, new Nothing()));
    var windows = bench.registry.state(StateDescriptor.value("w", TEXT), NUMBER);
    var timers = bench.registry.timers("t", NUMBER);
    bench.key("k");

    isInvalid(() -> value.update(null), "value of state 'v' is null");
    isInvalid(() -> list.add(null), "element of state 'l' is null");
    isInvalid(() -> list.addAll(Arrays.asList("x", null)), "element of state 'l' is null");
    isInvalid(() -> map.put(null, "x"), "user key of state 'm' is null");
    isInvalid(() -> map.put("x", null), "value of state 'm' is null");
    isInvalid(() -> map.get(null), "user key of state 'm' is null");
    isInvalid(() -> sum.add(null), "value of state 'r' is null");
    isInvalid(() -> all.add("x"), "accumulator of state 'a' is null");
    isInvalid(() -> windows.in(null), "namespace of state 'w' is null");
    isInvalid(() -> timers.register(null, 1), "namespace of timers 't' is null");
    assertThat(bench.table.rows).isEmpty();
    assertThat(bench.changelog.operations()).isEmpty();
  }

  private static final class Nothing implements AggregateFunction<String, String, String> {
    @Override
    public String createAccumulator() {
      return "";
    }

    @Override
    public String add(String value, String accumulator) {
      return null;
    }

    @Override
    public String result(String accumulator) {
      return accumulator;
    }
  }

  @Test
  void descriptorWithANull_isInvalid() {
    isInvalid(() -> StateDescriptor.value(null, TEXT), "described with a null");
    isInvalid(() -> StateDescriptor.list("l", null), "state 'l'");
    isInvalid(() -> StateDescriptor.map("m", TEXT, null), "state 'm'");
    isInvalid(() -> StateDescriptor.reducing("r", TEXT, null), "state 'r'");
    isInvalid(() -> StateDescriptor.aggregating("a", TEXT, null), "state 'a'");
  }

  @Test
  void reduceFunctionThatReturnsNull_isInvalid_andTheOldValueStays() {
    ReducingState<String> sum =
        bench.registry.state(StateDescriptor.reducing("r", TEXT, (a, b) -> null));
    bench.key("k");
    sum.add("x");
    isInvalid(() -> sum.add("y"), "what the function of state 'r' returned is null");
    assertThat(sum.get()).isEqualTo("x");
  }

  @Test
  void putAll_withANull_putsNothing() {
    MapState<String, String> map = bench.registry.state(StateDescriptor.map("m", TEXT, TEXT));
    bench.key("k");
    Map<String, String> entries = new LinkedHashMap<>();
    entries.put("a", "1");
    entries.put("b", null);
    isInvalid(() -> map.putAll(entries), "value of state 'm' is null");
    assertThat(map.isEmpty()).isTrue();
  }

  @Test
  void keyThatCannotBeWritten_leavesNoKeySelected() {
    KeyContext<Broken> keys = new KeyContext<>(new WritesHalf(), 1, ALL);
    keys.setCurrentKey(new Broken(1));
    isInvalid(() -> keys.setCurrentKey(new Broken(-1)), "cannot write a key", "half");
    isInvalid(keys::currentKey, "no key is selected");
    isInvalid(() -> keys.setCurrentKey(null), "a key is null");
  }

  @Test
  void serializerThatReadsLess_isToldBeforeAnythingIsStored() {
    ValueState<Long> value = bench.registry.state(StateDescriptor.value("v", new Lopsided(8, 4)));
    ListState<Long> list = bench.registry.state(StateDescriptor.list("l", new Lopsided(8, 4)));
    bench.key("k");
    isInvalid(() -> value.update(1L), "lopsided", "read only 4 of the 8 bytes", "state 'v'");
    isInvalid(() -> list.add(1L), "lopsided", "read only 4 of the 8 bytes", "state 'l'");
    assertThat(bench.table.rows).isEmpty();
  }

  @Test
  void serializerThatReadsANull_isToldBeforeAnythingIsStored() {
    ValueState<Long> value = bench.registry.state(StateDescriptor.value("v", new ReadsNull()));
    bench.key("k");
    isInvalid(() -> value.update(1L), "reads-null", "state 'v'", "read a null");
    assertThat(bench.table.rows).isEmpty();
  }

  @Test
  void serializerWithoutASnapshot_isToldWhenItIsNamed_notAtACheckpoint() {
    isInvalid(
        () -> bench.registry.state(StateDescriptor.value("v", new Unnamed())),
        Unnamed.class.getName(),
        "state 'v'",
        "no snapshot");
    isInvalid(() -> Serializers.list(new Unnamed()), "a part of 'list'", "no snapshot");
    isInvalid(() -> bench.registry.timers("t", new Unnamed()), "timers 't'", "no snapshot");
    isInvalid(() -> new KeyContext<>(new Unnamed(), 1, ALL), "a key", "no snapshot");
    assertThat(bench.registry.registrations()).isEmpty();
  }

  @Test
  void nullDeepWithinAValue_saysWhatToUse() {
    ValueState<List<Long>> value =
        bench.registry.state(StateDescriptor.value("v", Serializers.list(Serializers.int64())));
    bench.key("k");
    isInvalid(() -> value.update(Arrays.asList(1L, null)), "state 'v'", "null", "use an Optional");
    assertThat(bench.table.rows).isEmpty();
  }

  private static final class ReadsNull extends Numbered<Long> {
    ReadsNull() {
      super("reads-null");
    }

    @Override
    public void write(Long value, ByteWriter out) {
      out.writeLong(value);
    }

    @Override
    public Long read(ByteReader in) {
      in.skip(8);
      return null;
    }
  }

  private static final class Unnamed implements Serializer<Long> {
    @Override
    public void write(Long value, ByteWriter out) {
      out.writeLong(value);
    }

    @Override
    public Long read(ByteReader in) {
      return in.readLong();
    }

    @Override
    public SerializerSnapshot snapshot() {
      return null;
    }
  }

  @Test
  void serializerThatReadsMore_isToldBeforeAnythingIsStored() {
    ValueState<Long> value = bench.registry.state(StateDescriptor.value("v", new Lopsided(4, 8)));
    bench.key("k");
    isInvalid(() -> value.update(1L), "lopsided", "state 'v'", "read exactly what it wrote");
    assertThat(bench.table.rows).isEmpty();
  }

  @Test
  void list_ofASerializerThatGoesWrongLater_isInvalidAndNamesTheState() {
    ListState<Long> list = bench.registry.state(StateDescriptor.list("l", new WrongLater()));
    bench.key("k");
    list.add(0L);
    list.add(1L);
    isInvalid(list::get, "wrong-later", "element of state 'l'");
  }

  @Test
  void mapsAndSets_cannotBeAddresses() {
    var sets = Serializers.set(Serializers.string());
    isInvalid(() -> new KeyContext<>(sets, 1, ALL), "set", "a key", "record");
    var nested = Serializers.list(Serializers.pair(Serializers.int64(), sets));
    isInvalid(() -> new KeyContext<>(nested, 1, ALL), "cannot serve for a key");
    var record = Serializers.record(WithMap.class);
    isInvalid(() -> new KeyContext<>(record, 1, ALL), "cannot serve for a key");
    isInvalid(
        () -> bench.registry.state(StateDescriptor.map("m", sets, TEXT)), "user key of state 'm'");
    isInvalid(
        () -> bench.registry.state(StateDescriptor.value("v", TEXT), sets),
        "namespace of state 'v'");
    isInvalid(() -> bench.registry.timers("t", sets), "namespace of timers 't'");
    assertThat(bench.registry.registrations()).isEmpty();
    // As values they are welcome.
    ValueState<Set<String>> value = bench.registry.state(StateDescriptor.value("s", sets));
    bench.key("k");
    value.update(Set.of("x"));
    assertThat(value.value()).containsExactly("x");
  }

  record WithMap(String name, Map<String, Long> counts) {}

  @Test
  void serializerOfKeysThatGivesOtherBytesEachTime_isInvalid() {
    KeyContext<Broken> keys = new KeyContext<>(new Counting(), 1, ALL);
    isInvalid(() -> keys.setCurrentKey(new Broken(1)), "other bytes the second time");
  }

  private static void isInvalid(ThrowingCallable call, String... parts) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
        .hasMessageContainingAll(parts);
  }

  record Broken(int number) {}

  /** Fails between two halves of a negative key. */
  private static final class WritesHalf extends Numbered<Broken> {
    WritesHalf() {
      super("writes-half");
    }

    @Override
    public void write(Broken value, ByteWriter out) {
      out.writeInt(value.number);
      if (value.number < 0) {
        throw new IllegalArgumentException("half");
      }
    }

    @Override
    public Broken read(ByteReader in) {
      return new Broken(in.readInt());
    }
  }

  /** Adds the number of calls. */
  private static final class Counting extends Numbered<Broken> {
    private int calls;

    Counting() {
      super("counting");
    }

    @Override
    public void write(Broken value, ByteWriter out) {
      out.writeInt(value.number);
      out.writeInt(calls++);
    }

    @Override
    public Broken read(ByteReader in) {
      int number = in.readInt();
      in.skip(4);
      return new Broken(number);
    }
  }

  private static final class Lopsided extends Numbered<Long> {
    private final int written;
    private final int read;

    Lopsided(int written, int read) {
      super("lopsided");
      this.written = written;
      this.read = read;
    }

    @Override
    public void write(Long value, ByteWriter out) {
      out.writeBytes(new byte[written]);
    }

    @Override
    public Long read(ByteReader in) {
      in.skip(read);
      return 0L;
    }
  }

  /** Right for zero, reads too much of anything else. */
  private static final class WrongLater extends Numbered<Long> {
    WrongLater() {
      super("wrong-later");
    }

    @Override
    public void write(Long value, ByteWriter out) {
      out.writeLong(value);
    }

    @Override
    public Long read(ByteReader in) {
      long value = in.readLong();
      in.skip((int) value);
      return value;
    }
  }

  private abstract static class Numbered<T> implements Serializer<T> {
    private final String id;

    Numbered(String id) {
      this.id = id;
    }

    @Override
    public SerializerSnapshot snapshot() {
      return new SerializerSnapshot(id, 1, new byte[0]);
    }
  }
}
