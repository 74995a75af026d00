package io.alluvium.testkit.script;

import io.alluvium.KeyedBackend;
import io.alluvium.state.AggregateFunction;
import io.alluvium.state.AggregatingState;
import io.alluvium.state.ListState;
import io.alluvium.state.MapState;
import io.alluvium.state.Namespaced;
import io.alluvium.state.ReducingState;
import io.alluvium.state.State;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.Timer;
import io.alluvium.state.TimerQueue;
import io.alluvium.state.ValueState;
import io.alluvium.testkit.model.Texts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The steps of a script that use states. The same code runs against a real backend and against the
 * model; the results are compared as text. Stateless.
 */
final class StateSteps {

  /** Joins texts: associative, and shows any loss, repetition or change of order. */
  private static final AggregateFunction<String, String, String> JOINED =
      new AggregateFunction<>() {
        @Override
        public String createAccumulator() {
          return "0";
        }

        @Override
        public String add(String value, String accumulator) {
          return accumulator + ";" + value;
        }

        @Override
        public String result(String accumulator) {
          return "<" + accumulator + ">";
        }
      };

  static final List<String> NAMESPACES = List.of("n1", "n2", "window-3");
  static final List<String> TIMERS = List.of("t", "u");
  private static final List<StateDescriptor<? extends State>> STATES =
      List.of(
          StateDescriptor.value("v", Texts.INSTANCE),
          StateDescriptor.list("l", Texts.INSTANCE),
          StateDescriptor.map("m", Texts.INSTANCE, Texts.INSTANCE),
          StateDescriptor.reducing("r", Texts.INSTANCE, String::concat),
          StateDescriptor.aggregating("a", Texts.INSTANCE, JOINED),
          StateDescriptor.value("v/", Texts.INSTANCE),
          StateDescriptor.list("l/", Texts.INSTANCE),
          StateDescriptor.map("m/", Texts.INSTANCE, Texts.INSTANCE),
          StateDescriptor.reducing("r/", Texts.INSTANCE, String::concat),
          StateDescriptor.aggregating("a/", Texts.INSTANCE, JOINED));

  private StateSteps() {}

  static boolean isStateStep(String verb) {
    return verb.indexOf('.') > 0;
  }

  /** Runs a step at the current key and returns the resulting state as text. */
  static String apply(KeyedBackend<String> backend, String[] words) {
    if (words[0].startsWith("timer.")) {
      return timer(backend, words);
    }
    State state = state(backend, words[1]);
    String argument = words.length > 2 ? words[2] : "";
    change(state, words[0], argument);
    return read(state);
  }

  /** The state of a word such as {@code v} or {@code v/n1}. */
  private static State state(KeyedBackend<String> backend, String word) {
    int slash = word.indexOf('/');
    if (slash < 0) {
      return backend.state(descriptor(word));
    }
    return backend
        .state(descriptor(word.substring(0, slash + 1)), Texts.INSTANCE)
        .in(word.substring(slash + 1));
  }

  private static StateDescriptor<? extends State> descriptor(String name) {
    return STATES.stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no state '" + name + "'"));
  }

  @SuppressWarnings("unchecked")
  private static void change(State state, String verb, String argument) {
    switch (verb) {
      case "value.update" -> ((ValueState<String>) state).update(argument);
      case "list.add" -> ((ListState<String>) state).add(argument);
      case "list.addAll" -> ((ListState<String>) state).addAll(elements(argument));
      case "list.update" -> ((ListState<String>) state).update(elements(argument));
      case "map.put" -> put((MapState<String, String>) state, entries(argument));
      case "map.remove" -> ((MapState<String, String>) state).remove(argument);
      case "map.sweep" -> sweep((MapState<String, String>) state);
      case "reduce.add" -> ((ReducingState<String>) state).add(argument);
      case "agg.add" -> ((AggregatingState<String, String>) state).add(argument);
      case "value.clear", "list.clear", "map.clear", "reduce.clear", "agg.clear" -> state.clear();
      default -> throw new IllegalArgumentException("no step '" + verb + "'");
    }
  }

  private static List<String> elements(String text) {
    return text.isEmpty() ? List.of() : Arrays.asList(text.split(","));
  }

  private static Map<String, String> entries(String text) {
    Map<String, String> entries = new LinkedHashMap<>();
    for (String entry : elements(text)) {
      int equals = entry.indexOf('=');
      entries.put(entry.substring(0, equals), entry.substring(equals + 1));
    }
    return entries;
  }

  private static void put(MapState<String, String> state, Map<String, String> entries) {
    if (entries.size() == 1) {
      entries.forEach(state::put);
    } else {
      state.putAll(entries);
    }
  }

  /** Removes every other entry through the iterator, while it writes other entries. */
  private static void sweep(MapState<String, String> state) {
    Iterator<Map.Entry<String, String>> iterator = state.iterator();
    for (int i = 0; iterator.hasNext(); i++) {
      Map.Entry<String, String> entry = iterator.next();
      if (i % 2 == 0) {
        iterator.remove();
      } else {
        state.put(entry.getKey(), entry.getValue() + "!");
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static String read(State state) {
    if (state instanceof ValueState<?> value) {
      return String.valueOf(value.value());
    } else if (state instanceof ListState<?> list) {
      return list.get().toString();
    } else if (state instanceof ReducingState<?> reducing) {
      return String.valueOf(reducing.get());
    } else if (state instanceof AggregatingState<?, ?> aggregating) {
      return String.valueOf(aggregating.get());
    }
    return readMap((MapState<String, String>) state);
  }

  private static String readMap(MapState<String, String> map) {
    StringBuilder text = new StringBuilder();
    Iterator<Map.Entry<String, String>> entries = map.iterator();
    while (entries.hasNext()) {
      Map.Entry<String, String> entry = entries.next();
      text.append(entry.getKey()).append('=').append(map.get(entry.getKey())).append(' ');
      if (!entry.getValue().equals(map.get(entry.getKey())) || !map.contains(entry.getKey())) {
        text.append("(iterator: ").append(entry.getValue()).append(") ");
      }
    }
    return text.append(map.isEmpty() ? "(empty)" : "").toString();
  }

  private static String timer(KeyedBackend<String> backend, String[] words) {
    TimerQueue<String, String> timers = backend.timers(words[1], Texts.INSTANCE);
    switch (words[0]) {
      case "timer.register" -> timers.register(words[2], Long.parseLong(words[3]));
      case "timer.delete" -> timers.delete(words[2], Long.parseLong(words[3]));
      default -> throw new IllegalArgumentException("no step '" + words[0] + "'");
    }
    return firstTime(timers);
  }

  private static String firstTime(TimerQueue<String, String> timers) {
    Timer<String, String> first = timers.peek();
    return timers.isEmpty() + " " + (first == null ? "" : first.timestampMillis());
  }

  /**
   * Polls the real backend and removes the same timer from the model, because the order of timers
   * with equal times is not specified.
   */
  static @Nullable Timer<String, String> poll(
      String queue, KeyedBackend<String> real, KeyedBackend<String> model) {
    TimerQueue<String, String> expected = model.timers(queue, Texts.INSTANCE);
    TimerQueue<String, String> actual = real.timers(queue, Texts.INSTANCE);
    Timer<String, String> earliest = expected.peek();
    Timer<String, String> peeked = actual.peek();
    Timer<String, String> polled = actual.poll();
    boolean right =
        polled == null
            ? earliest == null && peeked == null
            : earliest != null
                && polled.equals(peeked)
                && polled.timestampMillis() == earliest.timestampMillis();
    if (!right) {
      throw new AssertionError("polled " + polled + ", peeked " + peeked + ", model: " + earliest);
    }
    if (polled != null) {
      model.setCurrentKey(polled.key());
      expected.delete(polled.namespace(), polled.timestampMillis());
    }
    return polled;
  }

  /** All state as text, one line per state, namespace and key, in a fixed order. */
  static List<String> dump(KeyedBackend<String> backend) {
    List<String> lines = new ArrayList<>();
    for (StateDescriptor<? extends State> descriptor : STATES) {
      if (descriptor.name().endsWith("/")) {
        for (String namespace : NAMESPACES) {
          Namespaced<String, ? extends State> state = backend.state(descriptor, Texts.INSTANCE);
          dump(backend, descriptor.name() + namespace, backend.keys(state, namespace), lines);
        }
      } else {
        dump(backend, descriptor.name(), backend.keys(backend.state(descriptor)), lines);
      }
    }
    for (String queue : TIMERS) {
      lines.add(queue + ": " + firstTime(backend.timers(queue, Texts.INSTANCE)));
    }
    return lines;
  }

  private static void dump(
      KeyedBackend<String> backend, String word, Stream<String> keys, List<String> into) {
    List<String> sorted;
    try (keys) {
      sorted = keys.sorted().toList();
    }
    for (String key : sorted) {
      backend.setCurrentKey(key);
      into.add(word + " " + key + ": " + read(state(backend, word)));
    }
  }
}
