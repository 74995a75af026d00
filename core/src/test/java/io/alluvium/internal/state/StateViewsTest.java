package io.alluvium.internal.state;

import static io.alluvium.internal.state.Texts.NOTHING;
import static io.alluvium.internal.state.Texts.NUMBER;
import static io.alluvium.internal.state.Texts.TEXT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Operation;
import io.alluvium.state.AggregateFunction;
import io.alluvium.state.AggregatingState;
import io.alluvium.state.ListState;
import io.alluvium.state.MapState;
import io.alluvium.state.Namespaced;
import io.alluvium.state.ReducingState;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class StateViewsTest {

  private final Bench bench = new Bench();

  @Test
  void value_isSeenAtKeyAndNamespace() {
    Namespaced<Integer, ValueState<String>> state =
        bench.registry.state(StateDescriptor.value("v", TEXT), NUMBER);
    bench.key("a");
    state.in(1).update("a1");
    state.in(2).update("a2");
    bench.key("b");
    assertThat(state.in(1).value()).isNull();
    state.in(1).update("b1");
    bench.key("a");
    assertThat(state.in(1).value()).isEqualTo("a1");
    ValueState<String> inTwo = state.in(2);
    assertThat(inTwo.value()).isEqualTo("a2");
    inTwo.clear();
    assertThat(inTwo.value()).isNull();
    assertThat(state.in(1).value()).isEqualTo("a1");
    assertThat(bench.changelog.operations())
        .containsExactly(Operation.PUT, Operation.PUT, Operation.PUT, Operation.DELETE);
  }

  @Test
  void value_withoutKey_isInvalid() {
    ValueState<String> state = bench.registry.state(StateDescriptor.value("v", TEXT));
    assertThatThrownBy(state::value)
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("setCurrentKey");
  }

  @Test
  void value_withOtherBytesThanItsSerializerReads_isInvalidAndNamesTheState() {
    ValueState<String> state = bench.registry.state(StateDescriptor.value("v", TEXT));
    bench.key("a");
    state.update("x");
    byte[] key = bench.table.rows.firstKey();
    bench.table.put(key, key.length, new byte[] {1, 'x', 'y'}, 3);
    assertThatThrownBy(state::value).hasMessageContainingAll("'v'", "read only 2 of the 3 bytes");
    bench.table.put(key, key.length, new byte[] {9, 'x'}, 2);
    assertThatThrownBy(state::value).hasMessageContainingAll("'v'", "ends early");
  }

  @Test
  void keyBytes_areAsLaidOut() {
    Namespaced<Integer, MapState<String, String>> state =
        bench.registry.state(StateDescriptor.map("counts", TEXT, TEXT), NUMBER);
    bench.key("ab");
    state.in(5).put("u", "v");
    String hex = HexFormat.of().formatHex(bench.table.rows.firstKey());
    // key group, id 0x09ffbb80 as a varint, key (length, then what its serializer wrote: 02 'ab'),
    // namespace, user key
    assertThat(hex.substring(4)).isEqualTo("80f7fe4f" + "03026162" + "0400000005" + "0175");
  }

  @Test
  void reducing_combines() {
    ReducingState<Integer> sum =
        bench.registry.state(StateDescriptor.reducing("sum", NUMBER, Integer::sum));
    bench.key("a");
    assertThat(sum.get()).isNull();
    sum.add(3);
    sum.add(4);
    assertThat(sum.get()).isEqualTo(7);
    sum.clear();
    assertThat(sum.get()).isNull();
  }

  @Test
  void aggregating_foldsIntoItsAccumulator() {
    AggregateFunction<String, Integer, String> lengths =
        new AggregateFunction<>() {
          @Override
          public Integer createAccumulator() {
            return 100;
          }

          @Override
          public Integer add(String value, Integer accumulator) {
            return accumulator + value.length();
          }

          @Override
          public String result(Integer accumulator) {
            return "=" + accumulator;
          }
        };
    AggregatingState<String, String> state =
        bench.registry.state(StateDescriptor.aggregating("agg", NUMBER, lengths));
    bench.key("a");
    assertThat(state.get()).isNull();
    state.add("xyz");
    state.add("z");
    assertThat(state.get()).isEqualTo("=104");
  }

  @Test
  void list_appendsWithoutReading_andReplaces() {
    ListState<String> list = bench.registry.state(StateDescriptor.list("l", TEXT));
    bench.key("a");
    assertThat(list.get()).isEmpty();
    list.add("1");
    list.addAll(List.of("2", "3"));
    list.addAll(List.of());
    assertThat(list.get()).containsExactly("1", "2", "3");
    list.update(List.of("9", "8"));
    list.add("7");
    assertThat(list.get()).containsExactly("9", "8", "7");
    list.update(List.of());
    assertThat(list.get()).isEmpty();
    assertThat(bench.changelog.operations())
        .containsExactly(
            Operation.MERGE, Operation.MERGE, Operation.PUT, Operation.MERGE, Operation.DELETE);
  }

  @Test
  void list_operandBytes_areAsDocumented() {
    ListState<String> list = bench.registry.state(StateDescriptor.list("l", TEXT));
    bench.key("a");
    list.add("x");
    list.addAll(List.of("y", "zz"));
    assertThat(HexFormat.of().formatHex(bench.table.rows.firstEntry().getValue()))
        .isEqualTo("0000000000000000" + "02" + "0178" + "0000000000000001" + "05" + "0179027a7a");
  }

  @Test
  void list_elementWithoutBytes_isInvalid() {
    ListState<String> list = bench.registry.state(StateDescriptor.list("l", NOTHING));
    bench.key("a");
    assertThatThrownBy(() -> list.add("x")).hasMessageContainingAll("'l'", "nothing v1");
    assertThat(bench.changelog.changes).isEmpty();
  }

  @Test
  void list_damagedOperand_isCorrupt() {
    ListState<String> list = bench.registry.state(StateDescriptor.list("l", TEXT));
    bench.key("a");
    list.add("xyz");
    Map.Entry<byte[], byte[]> row = bench.table.rows.firstEntry();
    byte[] value = row.getValue();
    value[8] = 77;
    assertThatThrownBy(list::get).hasMessageContaining("77 bytes, 4 are left");
    value[8] = 2;
    assertThatThrownBy(list::get).hasMessageContaining("beyond its end");
  }

  @Test
  void list_hugeValue_doesNotKeepItsBuffer() {
    ListState<String> list = bench.registry.state(StateDescriptor.list("l", TEXT));
    bench.key("a");
    list.add("x".repeat(6 << 20));
    assertThat(list.get()).hasSize(1);
    list.add("y");
    assertThat(list.get().get(1)).isEqualTo("y");
  }

  private MapState<Integer, String> map() {
    return bench.registry.state(StateDescriptor.map("m", NUMBER, TEXT));
  }

  private static List<Integer> keysOf(MapState<Integer, String> map) {
    List<Integer> keys = new ArrayList<>();
    map.iterator().forEachRemaining(entry -> keys.add(entry.getKey()));
    return keys;
  }

  @Test
  void map_putGetRemove() {
    MapState<Integer, String> map = map();
    bench.key("a");
    assertThat(map.isEmpty()).isTrue();
    map.putAll(Map.of(1, "one", 2, "two"));
    map.put(2, "zwei");
    assertThat(map.get(1)).isEqualTo("one");
    assertThat(map.get(2)).isEqualTo("zwei");
    assertThat(map.get(3)).isNull();
    assertThat(map.contains(2)).isTrue();
    map.remove(2);
    assertThat(map.contains(2)).isFalse();
    assertThat(map.isEmpty()).isFalse();
    bench.key("b");
    assertThat(map.isEmpty()).isTrue();
    assertThat(keysOf(map)).isEmpty();
  }

  @Test
  void map_iteratesASnapshot_whileTheUserWrites() {
    MapState<Integer, String> map = map();
    bench.key("a");
    for (int i = 0; i < 200; i++) {
      map.put(i, "v" + i);
    }
    Iterator<Map.Entry<Integer, String>> entries = map.iterator();
    List<Integer> seen = new ArrayList<>();
    while (entries.hasNext()) {
      Map.Entry<Integer, String> entry = entries.next();
      assertThat(entry.getValue()).isEqualTo("v" + entry.getKey());
      seen.add(entry.getKey());
      bench.key("a");
      map.put(1000 + entry.getKey(), "new");
      map.remove(199 - entry.getKey());
      bench.key("other");
      map.put(entry.getKey(), "elsewhere");
    }
    assertThat(seen).isEqualTo(IntStream.range(0, 200).boxed().toList());
    assertThatThrownBy(entries::next).isInstanceOf(NoSuchElementException.class);
    assertThat(bench.table.openScans).isZero();
  }

  @Test
  void map_iteratorRemove_removesFromTheRowItIteratesOver() {
    MapState<Integer, String> map = map();
    bench.key("a");
    map.putAll(Map.of(1, "x", 2, "y"));
    Iterator<Map.Entry<Integer, String>> entries = map.iterator();
    assertThatThrownBy(entries::remove).isInstanceOf(IllegalStateException.class);
    Map.Entry<Integer, String> unused = entries.next();
    bench.key("b");
    entries.remove();
    assertThatThrownBy(entries::remove).isInstanceOf(IllegalStateException.class);
    bench.key("a");
    assertThat(keysOf(map)).containsExactly(2);
  }

  @Test
  void map_clear_deletesFewOneByOne_andManyByRange() {
    MapState<Integer, String> map = map();
    bench.key("a");
    IntStream.range(0, MapView.SINGLE_DELETES).forEach(i -> map.put(i, "v"));
    bench.key("b");
    IntStream.range(0, MapView.SINGLE_DELETES + 1).forEach(i -> map.put(i, "v"));
    bench.changelog.changes.clear();
    bench.key("a");
    map.clear();
    assertThat(bench.changelog.operations())
        .hasSize(MapView.SINGLE_DELETES)
        .containsOnly(Operation.DELETE);
    assertThat(map.isEmpty()).isTrue();
    bench.changelog.changes.clear();
    bench.key("b");
    map.clear();
    assertThat(bench.changelog.operations()).containsExactly(Operation.DELETE_RANGE);
    assertThat(map.isEmpty()).isTrue();
    bench.changelog.changes.clear();
    map.clear();
    assertThat(bench.changelog.changes).isEmpty();
  }

  @Test
  void map_abandonedIterators_afterClose_throwClosed() {
    MapState<Integer, String> map = map();
    bench.key("a");
    IntStream.range(0, 500).forEach(i -> map.put(i, "v"));
    Iterator<Map.Entry<Integer, String>> entries = map.iterator();
    Map.Entry<Integer, String> unused = entries.next();
    assertThat(bench.table.openScans).isEqualTo(1);
    bench.writePath.close();
    assertThatThrownBy(entries::next).hasMessageContaining("closed");
  }

  @Test
  void map_droppedIterators_areClosedAfterTheyAreCollected() {
    MapState<Integer, String> map = map();
    bench.key("a");
    IntStream.range(0, 500).forEach(i -> map.put(i, "v"));
    for (int attempt = 0; attempt < 50; attempt++) {
      Iterator<Map.Entry<Integer, String>> unused = map.iterator();
      System.gc();
      if (bench.table.openScans < attempt + 1) {
        return;
      }
    }
    assertThat(bench.table.openScans).isLessThan(50);
  }

  @Test
  void keys_givesEachKeyOnce_whateverTheKind() {
    Namespaced<Integer, MapState<Integer, String>> maps =
        bench.registry.state(StateDescriptor.map("m", NUMBER, TEXT), NUMBER);
    ListState<String> lists = bench.registry.state(StateDescriptor.list("l", TEXT));
    for (int i = 0; i < 100; i++) {
      bench.key("k" + i);
      maps.in(i % 3).put(1, "x");
      maps.in(i % 3).put(2, "y");
      maps.in(9).put(3, "z");
      lists.add("e");
      lists.add("f");
    }
    try (Stream<String> keys = bench.registry.keys(maps, 1)) {
      assertThat(keys.toList())
          .hasSize(33)
          .doesNotHaveDuplicates()
          .contains("k1", "k97")
          .doesNotContain("k0");
    }
    try (Stream<String> keys = bench.registry.keys(lists)) {
      assertThat(new TreeSet<>(keys.collect(Collectors.toList()))).hasSize(100);
    }
    try (Stream<String> keys = bench.registry.keys(maps, 4)) {
      assertThat(keys).isEmpty();
    }
    assertThat(bench.table.openScans).isZero();
  }

  @Test
  void keys_survivesChangesOfWhatItVisits() {
    ValueState<String> values = bench.registry.state(StateDescriptor.value("v", TEXT));
    for (int i = 0; i < 100; i++) {
      bench.key("k" + i);
      values.update("x");
    }
    List<String> seen = new ArrayList<>();
    try (Stream<String> keys = bench.registry.keys(values)) {
      keys.forEach(
          key -> {
            seen.add(key);
            bench.key(key);
            values.clear();
          });
    }
    assertThat(seen).hasSize(100).doesNotHaveDuplicates();
    assertThat(bench.table.rows).isEmpty();
  }

  @Test
  void keys_closedHalfWay_closesItsScan() {
    ValueState<String> values = bench.registry.state(StateDescriptor.value("v", TEXT));
    IntStream.range(0, 100)
        .forEach(
            i -> bench.key("k" + i).registry.state(StateDescriptor.value("v", TEXT)).update("x"));
    try (Stream<String> keys = bench.registry.keys(values)) {
      assertThat(keys.iterator().next()).startsWith("k");
      assertThat(bench.table.openScans).isEqualTo(1);
    }
    assertThat(bench.table.openScans).isZero();
  }

  @Test
  void namespace_whoseSerializerFails_leavesNothingSelected() {
    Namespaced<Integer, ValueState<String>> state =
        bench.registry.state(
            StateDescriptor.value("v", TEXT),
            new io.alluvium.serializer.Serializer<Integer>() {
              @Override
              public void write(Integer value, ByteWriter out) {
                out.writeByte(1);
                if (value < 0) {
                  throw new IllegalArgumentException("negative");
                }
              }

              @Override
              public Integer read(io.alluvium.serializer.ByteReader in) {
                return (int) in.readByte();
              }

              @Override
              public io.alluvium.serializer.SerializerSnapshot snapshot() {
                return new io.alluvium.serializer.SerializerSnapshot("picky", 1, new byte[0]);
              }
            });
    bench.key("a");
    ValueState<String> view = state.in(1);
    view.update("x");
    assertThatThrownBy(() -> state.in(-1))
        .hasMessageContainingAll("namespace of state 'v'", "negative");
    assertThatThrownBy(view::value).hasMessageContaining("no namespace");
    assertThat(state.in(2).value()).isEqualTo("x");
  }
}
