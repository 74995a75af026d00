package io.alluvium.internal.state;

import static io.alluvium.internal.state.Texts.NUMBER;
import static io.alluvium.internal.state.Texts.TEXT;
import static io.alluvium.internal.state.Texts.TEXT_V2;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.StateKind;
import io.alluvium.StateRegistration;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Operation;
import io.alluvium.state.ListState;
import io.alluvium.state.MapState;
import io.alluvium.state.Namespaced;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

final class StateRegistryTest {

  private static void assertFails(Kind kind, ThrowingCallable call, String... words) {
    assertThatThrownBy(call)
        .isInstanceOf(StateBackendException.class)
        .satisfies(e -> assertThat(((StateBackendException) e).kind()).isEqualTo(kind))
        .hasMessageContainingAll(words.length == 0 ? new String[] {" "} : words);
  }

  @Test
  void idOf_isStable() {
    assertThat(KeyLayout.stateId("")).isEqualTo(0x011c9dcd);
    assertThat(KeyLayout.stateId("counts")).isEqualTo(0x09ffbb80);
    assertThat(KeyLayout.stateId("zähler")).isBetween(0, (1 << 28) - 1);
  }

  @Test
  void state_sameNameAgain_givesTheSameObject() {
    Bench bench = new Bench();
    ValueState<String> first = bench.registry.state(StateDescriptor.value("a", TEXT));
    assertThat(bench.registry.state(StateDescriptor.value("a", TEXT))).isSameAs(first);
    Namespaced<Integer, ListState<String>> lists =
        bench.registry.state(StateDescriptor.list("l", TEXT), NUMBER);
    assertThat(bench.registry.state(StateDescriptor.list("l", TEXT), NUMBER)).isSameAs(lists);
    assertThat(lists.in(1)).isSameAs(lists.in(2));
    assertThat(bench.registry.timers("t", NUMBER)).isSameAs(bench.registry.timers("t", NUMBER));
  }

  @Test
  void state_sameNameOtherKind_isIncompatible() {
    Bench bench = new Bench();
    ValueState<String> unused = bench.registry.state(StateDescriptor.value("a", TEXT));
    assertFails(
        Kind.INCOMPATIBLE,
        () -> bench.registry.state(StateDescriptor.list("a", TEXT)),
        "'a'",
        "VALUE",
        "LIST");
    assertFails(
        Kind.INCOMPATIBLE,
        () -> bench.registry.state(StateDescriptor.value("a", TEXT), NUMBER),
        "'a'",
        "without namespaces",
        "with namespaces number v1");
    assertFails(
        Kind.INCOMPATIBLE,
        () -> bench.registry.state(StateDescriptor.value("a", NUMBER)),
        "text v1",
        "number v1");
    assertFails(Kind.INCOMPATIBLE, () -> bench.registry.timers("a", NUMBER), "'a'", "TIMERS");
  }

  @Test
  void state_twoNamesWithOneId_isInvalidAndNamesBoth() {
    Map<Integer, String> names = new HashMap<>();
    String first = null;
    String second = "";
    for (int i = 0; first == null; i++) {
      second = "state-" + i;
      first = names.putIfAbsent(KeyLayout.stateId(second), second);
    }
    Bench bench = new Bench();
    ValueState<String> unused = bench.registry.state(StateDescriptor.value(first, TEXT));
    String clashing = second;
    assertFails(
        Kind.INVALID,
        () -> bench.registry.state(StateDescriptor.value(clashing, TEXT)),
        first,
        second);
  }

  @Test
  void registrations_keepWhatNobodyAskedFor_sortedByName() {
    Bench bench = new Bench();
    Object unused = bench.registry.state(StateDescriptor.map("m", TEXT, NUMBER), NUMBER);
    unused = bench.registry.timers("a", TEXT);
    Bench restored = bench.restored();
    unused = restored.registry.state(StateDescriptor.value("k", TEXT));
    assertThat(restored.registry.registrations())
        .containsExactly(
            new StateRegistration(
                "a", KeyLayout.stateId("a"), StateKind.TIMERS, TEXT.snapshot(), List.of()),
            new StateRegistration(
                "k",
                KeyLayout.stateId("k"),
                StateKind.VALUE,
                NoNamespace.SNAPSHOT,
                List.of(TEXT.snapshot())),
            new StateRegistration(
                "m",
                KeyLayout.stateId("m"),
                StateKind.MAP,
                NUMBER.snapshot(),
                List.of(TEXT.snapshot(), NUMBER.snapshot())));
  }

  @Test
  void restore_sameStateInTwoFormats_isIncompatible() {
    StateRegistration one =
        new StateRegistration(
            "a",
            KeyLayout.stateId("a"),
            StateKind.VALUE,
            NoNamespace.SNAPSHOT,
            List.of(TEXT.snapshot()));
    StateRegistration other =
        new StateRegistration(
            "a",
            KeyLayout.stateId("a"),
            StateKind.VALUE,
            NoNamespace.SNAPSHOT,
            List.of(TEXT_V2.snapshot()));
    assertThat(new Bench(new MemoryTable(), List.of(one, one)).registry.registrations())
        .containsExactly(one);
    assertFails(
        Kind.INCOMPATIBLE,
        () -> new Bench(new MemoryTable(), List.of(one, other)),
        "'a'",
        "text v1",
        "text v2");
  }

  @Test
  void restore_otherFormat_migratesOnceThroughTheWritePath() {
    Bench old = new Bench();
    ValueState<String> values = old.registry.state(StateDescriptor.value("v", TEXT));
    ListState<String> lists = old.registry.state(StateDescriptor.list("l", TEXT));
    Namespaced<Integer, MapState<String, String>> maps =
        old.registry.state(StateDescriptor.map("m", TEXT, TEXT), NUMBER);
    for (String key : List.of("a", "b", "c")) {
      old.key(key);
      values.update("value of " + key);
      lists.add("1" + key);
      lists.addAll(List.of("2" + key, "3" + key));
      maps.in(7).put("x", "mx" + key);
    }

    Bench restored = old.restored();
    ValueState<String> newValues = restored.registry.state(StateDescriptor.value("v", TEXT_V2));
    assertThat(restored.changelog.operations()).hasSize(3).containsOnly(Operation.PUT);
    ListState<String> newLists = restored.registry.state(StateDescriptor.list("l", TEXT_V2));
    assertThat(restored.changelog.operations()).hasSize(6).containsOnly(Operation.PUT);
    Namespaced<Integer, MapState<String, String>> newMaps =
        restored.registry.state(StateDescriptor.map("m", TEXT, TEXT_V2), NUMBER);
    assertThat(restored.changelog.operations()).hasSize(9).containsOnly(Operation.PUT);
    for (String key : List.of("a", "b", "c")) {
      restored.key(key);
      assertThat(newValues.value()).isEqualTo("value of " + key);
      newLists.add("4" + key);
      assertThat(newLists.get()).containsExactly("1" + key, "2" + key, "3" + key, "4" + key);
      assertThat(newMaps.in(7).get("x")).isEqualTo("mx" + key);
    }
    assertThat(restored.registry.registrations())
        .filteredOn(state -> state.name().equals("v"))
        .singleElement()
        .satisfies(state -> assertThat(state.values()).containsExactly(TEXT_V2.snapshot()));
    assertThat(restored.table.openScans).isZero();

    Bench again = restored.restored();
    Object unused = again.registry.state(StateDescriptor.value("v", TEXT_V2));
    assertThat(again.changelog.changes).isEmpty();
  }

  /** A list that grew by appends may be longer than a change. */
  @Test
  void restore_otherFormatOfALongList_migratesInSeveralChanges() {
    Bench old = new Bench();
    ListState<String> list = old.registry.state(StateDescriptor.list("l", TEXT));
    old.key("a");
    List<String> elements = List.of("1".repeat(700_000), "2".repeat(700_000), "3", "4");
    elements.forEach(list::add);

    Bench restored = old.restored();
    ListState<String> newList = restored.registry.state(StateDescriptor.list("l", TEXT_V2));
    assertThat(restored.changelog.operations()).containsExactly(Operation.PUT, Operation.MERGE);
    restored.key("a");
    assertThat(newList.get()).isEqualTo(elements);
  }

  @Test
  void restore_unreadableFormat_isIncompatibleAndNamesBoth() {
    Bench old = new Bench();
    Object unused = old.registry.state(StateDescriptor.value("v", TEXT_V2));
    unused = old.registry.state(StateDescriptor.map("m", TEXT, TEXT), TEXT);
    Bench restored = old.restored();
    assertFails(
        Kind.INCOMPATIBLE,
        () -> restored.registry.state(StateDescriptor.value("v", TEXT)),
        "'v'",
        "text v2",
        "text v1");
    assertFails(
        Kind.INCOMPATIBLE,
        () -> restored.registry.state(StateDescriptor.map("m", TEXT_V2, TEXT), TEXT),
        "user keys",
        "'m'");
    assertFails(
        Kind.INCOMPATIBLE,
        () -> restored.registry.state(StateDescriptor.map("m", TEXT, TEXT), TEXT_V2),
        "namespaces",
        "'m'");
    assertFails(
        Kind.INCOMPATIBLE,
        () -> restored.registry.state(StateDescriptor.list("v", TEXT_V2)),
        "VALUE",
        "LIST");
    assertThat(restored.registry.registrations()).isEqualTo(old.registry.registrations());
    // Still usable in the old format.
    assertThat(restored.registry.state(StateDescriptor.value("v", TEXT_V2))).isNotNull();
  }

  @Test
  void restore_migrationFailsHalfWay_refusesEveryFurtherCheckpoint() {
    Bench old = new Bench();
    ValueState<String> values = old.registry.state(StateDescriptor.value("v", TEXT));
    old.key("a");
    values.update("fine");
    old.key("b");
    values.update("bad");
    Serializer<String> picky =
        new Serializer<>() {
          @Override
          public void write(String value, ByteWriter out) {
            if (value.equals("bad")) {
              throw new IllegalArgumentException("cannot write this");
            }
            out.writeString(value + "!");
          }

          @Override
          public String read(ByteReader in) {
            return in.readString();
          }

          @Override
          public SerializerSnapshot snapshot() {
            return new SerializerSnapshot("picky", 1, new byte[0]);
          }

          @Override
          public Optional<Serializer<String>> readerOf(SerializerSnapshot written) {
            return Optional.of(TEXT);
          }
        };
    Bench restored = old.restored();
    assertThatThrownBy(() -> restored.registry.state(StateDescriptor.value("v", picky)))
        .hasMessageContainingAll("picky", "state 'v'", "cannot write this");
    assertFails(Kind.INCOMPATIBLE, restored.registry::registrations, "'v'", "half-way");
  }

  @Test
  void keys_ofAStateOfAnotherBackend_isInvalid() {
    Bench bench = new Bench();
    ValueState<String> foreign = new Bench().registry.state(StateDescriptor.value("v", TEXT));
    Namespaced<Integer, ValueState<String>> namespaced =
        bench.registry.state(StateDescriptor.value("v", TEXT), NUMBER);
    assertFails(Kind.INVALID, () -> bench.registry.keys(foreign));
    assertFails(Kind.INVALID, () -> bench.registry.keys(namespaced.in(1)));
  }

  @Test
  void close_thenUse_throwsClosed() {
    Bench bench = new Bench();
    ValueState<String> values = bench.key("a").registry.state(StateDescriptor.value("v", TEXT));
    bench.writePath.close();
    assertFails(Kind.CLOSED, values::value);
    assertFails(Kind.CLOSED, () -> bench.registry.state(StateDescriptor.value("w", TEXT)));
    assertFails(Kind.CLOSED, () -> bench.registry.keys(values));
  }
}
