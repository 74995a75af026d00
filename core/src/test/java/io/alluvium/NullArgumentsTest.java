package io.alluvium;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import io.alluvium.StateBackendException.Kind;
import io.alluvium.bytes.ByteBackend;
import io.alluvium.bytes.ByteQueue;
import io.alluvium.config.Configuration;
import io.alluvium.config.CoreOptions;
import io.alluvium.config.Option;
import io.alluvium.internal.blob.BlobStores;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Pair;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.TableProvider.Tables;
import io.alluvium.state.AggregateFunction;
import io.alluvium.state.AggregatingState;
import io.alluvium.state.AppendingState;
import io.alluvium.state.ListState;
import io.alluvium.state.MapState;
import io.alluvium.state.Namespaced;
import io.alluvium.state.ReducingState;
import io.alluvium.state.State;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.Timer;
import io.alluvium.state.TimerQueue;
import io.alluvium.state.ValueState;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Everything that users can call, with a null in the place of each argument in turn: an {@code
 * INVALID} that names the argument, and nothing is stored. A class or a method that is added is
 * covered without a change here.
 */
@SuppressWarnings("NullAway") // what the annotations forbid is what users do
final class NullArgumentsTest {

  private static final KeyGroupRange ALL = new KeyGroupRange(0, 8);
  private static final Serializer<Long> NUMBER = Serializers.int64();

  private static final Map<String, String> SETTINGS =
      Map.of(
          "state.checkpoints.dir", "memory:",
          "state.backend.type", "heap",
          "state.backend.changelog.enabled", "false",
          "alluvium.restore.fallback", "true");

  /** Not checked by themselves. */
  private static final Set<Class<?>> LEFT_OUT =
      Set.of(
          // Called for every value, by the serializers; a Codec says whose value it was.
          ByteReader.class,
          ByteWriter.class,
          Serializer.class,
          // Written by users, called by us.
          AggregateFunction.class,
          // How errors are made.
          StateBackendException.class,
          // Carry what users put in; looked at where that is stored.
          Pair.class,
          Timer.class);

  private final Map<Class<?>, Object> instances = new HashMap<>();
  private final Map<Class<?>, Object> samples = new HashMap<>();
  private StateBackend backend;
  private KeyedBackend<Long> keyed;

  @BeforeEach
  void open() {
    backend = StateBackend.open(SETTINGS);
    assertThat(backend.catalog().takeOver("job")).isEmpty();
    keyed = backend.keyed(NUMBER, 8, ALL);
    keyed.setCurrentKey(1L);
    MapState<Long, Long> map = keyed.state(StateDescriptor.map("m", NUMBER, NUMBER));
    Namespaced<Long, ValueState<Long>> windows =
        keyed.state(StateDescriptor.value("w", NUMBER), NUMBER);
    ByteBackend bytes = backend.bytes(8, ALL, List.of(), RestoreMode.REUSE);
    ReducingState<Long> sum = keyed.state(StateDescriptor.reducing("r", NUMBER, Long::sum));
    CheckpointHandle handle =
        new CheckpointHandle(1, ALL, 8, 0, List.of(), List.of(), NUMBER.snapshot(), List.of());
    Incarnation writer = new Incarnation(1, 2);

    add(StateBackend.class, backend);
    add(CheckpointCatalog.class, backend.catalog());
    add(CheckpointInspector.class, backend.inspector());
    add(Configuration.class, backend.configuration());
    add(KeyedBackend.class, keyed);
    add(MapState.class, map);
    add(Namespaced.class, windows);
    add(ValueState.class, windows.in(1L));
    add(ListState.class, keyed.state(StateDescriptor.list("l", NUMBER)));
    add(ReducingState.class, sum);
    add(AppendingState.class, sum);
    add(AggregatingState.class, keyed.state(StateDescriptor.aggregating("a", NUMBER, new Last())));
    add(TimerQueue.class, keyed.timers("t", NUMBER));
    add(ByteBackend.class, bytes);
    add(ByteQueue.class, bytes.queue(1, ALL, ByteQueue.Start.EMPTY));
    add(KeyGroups.class, new KeyGroups<>(NUMBER, 8));
    add(KeyGroupRange.class, ALL);
    add(CheckpointHandle.class, handle);
    add(SerializerSnapshot.class, NUMBER.snapshot());
    add(Components.class, Components.defaults());
    add(Option.class, CoreOptions.TABLE);
    add(
        Checkpoint.class,
        new Checkpoint(1, 1, "job", writer, "1", Instant.EPOCH, List.of(handle), new byte[0]));

    samples.put(State.class, map);
    samples.put(StateDescriptor.class, StateDescriptor.value("d", NUMBER));
    samples.put(Serializer.class, NUMBER);
    samples.put(SerializerSnapshot.class, NUMBER.snapshot());
    samples.put(Incarnation.class, writer);
    samples.put(BlobStore.class, BlobStores.open("memory:", backend.configuration()));
    samples.put(Metrics.class, Metrics.NONE);
    samples.put(RandomGenerator.class, new Random(1));
    samples.put(Properties.class, new Properties());
    samples.put(Duration.class, Duration.ZERO);
    samples.put(Instant.class, Instant.EPOCH);
    samples.put(ByteWriter.class, new ByteWriter());
    samples.put(ByteReader.class, new ByteReader());
    samples.put(Class.class, KeyGroupRange.class);
    samples.put(String.class, "x");
    samples.put(Object.class, 1L);
    samples.put(byte[].class, new byte[8]);
    samples.put(List.class, List.of());
    samples.put(Collection.class, List.of());
    samples.put(Map.class, Map.of());
    samples.put(Optional.class, Optional.empty());
    samples.put(int.class, 1);
    samples.put(long.class, 1L);
    samples.put(double.class, 0.5);
    samples.put(boolean.class, false);
    for (Class<?> called : List.of(BlobNames.class, Tables.class)) {
      samples.put(called, proxy(called));
    }
  }

  private void add(Class<?> type, Object instance) {
    instances.put(type, instance);
    samples.put(type, instance);
  }

  private static Object proxy(Class<?> type) {
    return Proxy.newProxyInstance(
        type.getClassLoader(),
        new Class<?>[] {type},
        (self, method, arguments) -> {
          throw new AssertionError("called before its arguments were checked: " + method);
        });
  }

  private static final class Last implements AggregateFunction<Long, Long, Long> {
    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(Long value, Long accumulator) {
      return value;
    }

    @Override
    public Long result(Long accumulator) {
      return accumulator;
    }
  }

  @AfterEach
  void close() {
    backend.close();
  }

  @Test
  void nullForAnyArgument_isInvalidAndNamesIt() throws Exception {
    List<String> wrong = new ArrayList<>();
    int tried = 0;
    for (Class<?> type : publicTypes()) {
      for (Executable call : calls(type)) {
        for (int i = 0; i < call.getParameterCount(); i++) {
          if (!call.getParameterTypes()[i].isPrimitive()) {
            tried++;
            String problem = problemOf(type, call, i);
            if (!problem.isEmpty()) {
              wrong.add(call + ", parameter " + call.getParameters()[i].getName() + ": " + problem);
            }
          }
        }
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(tried).isGreaterThan(150);
    assertThat(backend.catalog().latest()).isEmpty();
    assertThat(keyed.states()).hasSize(6);
  }

  /** The public classes of the packages for users and engines, as they were compiled. */
  private static List<Class<?>> publicTypes() throws Exception {
    Path root =
        Path.of(StateBackend.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    List<Class<?>> types = new ArrayList<>();
    for (String name : List.of("", "bytes", "config", "serializer", "state")) {
      try (Stream<Path> files = Files.list(root.resolve("io/alluvium").resolve(name))) {
        for (Path file : files.filter(f -> f.toString().endsWith(".class")).sorted().toList()) {
          String path = root.relativize(file).toString();
          Class<?> type =
              Class.forName(
                  path.substring(0, path.length() - 6)
                      .replace(file.getFileSystem().getSeparator(), "."));
          if (isPublic(type) && !type.isEnum() && !LEFT_OUT.contains(type)) {
            types.add(type);
          }
        }
      }
    }
    assertThat(types).contains(StateBackend.class, CheckpointCatalog.Commit.class, Option.class);
    return types;
  }

  private static boolean isPublic(Class<?> type) {
    Class<?> outer = type.getEnclosingClass();
    return Modifier.isPublic(type.getModifiers()) && (outer == null || isPublic(outer));
  }

  private static List<Executable> calls(Class<?> type) {
    List<Executable> calls = new ArrayList<>(Arrays.asList(type.getConstructors()));
    for (Method method : type.getDeclaredMethods()) {
      if (Modifier.isPublic(method.getModifiers())
          && !method.isSynthetic()
          && !method.getName().equals("equals")) {
        calls.add(method);
      }
    }
    return calls;
  }

  private String problemOf(Class<?> type, Executable call, int nullAt) throws Exception {
    Object[] arguments = new Object[call.getParameterCount()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = i == nullAt ? null : sample(call.getParameterTypes()[i]);
    }
    // A null key leaves none selected.
    keyed.setCurrentKey(1L);
    try {
      if (call instanceof Method method) {
        boolean isStatic = Modifier.isStatic(method.getModifiers());
        if (!isStatic && !instances.containsKey(type)) {
          return fail("add a sample of " + type + ", which has " + method);
        }
        Object unused = method.invoke(isStatic ? null : instances.get(type), arguments);
      } else {
        Object unused = ((java.lang.reflect.Constructor<?>) call).newInstance(arguments);
      }
      return "no exception";
    } catch (InvocationTargetException e) {
      return problemOf(call.getParameters()[nullAt], e.getCause());
    }
  }

  private static String problemOf(Parameter parameter, Throwable thrown) {
    if (!(thrown instanceof StateBackendException told) || told.kind() != Kind.INVALID) {
      return thrown.toString();
    }
    String said = squeezed(told.getMessage());
    return said.contains("null") && said.contains(squeezed(parameter.getName()))
        ? ""
        : "does not name it: " + told.getMessage();
  }

  private static String squeezed(String text) {
    return text.replace(" ", "").toLowerCase(Locale.ROOT);
  }

  private Object sample(Class<?> type) {
    Object sample = samples.get(type);
    if (sample == null && type.isEnum()) {
      return type.getEnumConstants()[0];
    }
    return sample == null && type.isInterface() ? proxy(type) : sample;
  }

  @Test
  void nullWithinAnArgument_isInvalidAndSaysWhere() {
    invalid(
        () -> backend.catalog().commit(1, Arrays.asList((CheckpointHandle) null), new byte[0]),
        "'handles' must not hold a null");
    invalid(
        () ->
            backend.keyed(
                NUMBER, 8, ALL, Arrays.asList((CheckpointHandle) null), RestoreMode.REUSE),
        "'restoreFrom' must not hold a null");
    Map<String, String> settings = new HashMap<>(SETTINGS);
    settings.put("alluvium.fencing", null);
    settings.put(null, "x");
    invalid(
        () -> StateBackend.open(settings),
        "the value of 'alluvium.fencing' is null; leave the option out",
        "a null in the place of an option");
    ListState<Long> list = keyed.state(StateDescriptor.list("l", NUMBER));
    invalid(() -> list.update(Arrays.asList(1L, null)), "element of state 'l' is null");
    MapState<Long, Long> map = keyed.state(StateDescriptor.map("m", NUMBER, NUMBER));
    Map<Long, Long> entries = new HashMap<>();
    entries.put(null, 1L);
    invalid(() -> map.putAll(entries), "user key of state 'm' is null");
    assertThat(list.get()).isEmpty();
    assertThat(map.isEmpty()).isTrue();
  }

  private static void invalid(
      org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String... parts) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
        .hasMessageContainingAll(parts);
  }
}
