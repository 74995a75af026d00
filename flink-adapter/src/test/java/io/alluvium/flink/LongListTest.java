package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.bytes.ByteBackend;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A list that grew by appends may be longer than a change; here a change is at most 3 MB long.
 * Lists are merged and shortened all the same.
 */
final class LongListTest {

  private static final int MOST_BYTES = 3 << 20;
  private static final int TARGET = 1;
  private static final Duration TTL = Duration.ofHours(1);

  private final ManualTask clock = new ManualTask();
  private final List<String> changes = new ArrayList<>();
  private int most = MOST_BYTES;
  private final TestKeyedBackend<Integer> backend =
      TestKeyedBackend.open(
          Backends.HEAP_CHANGELOG.configuration(),
          environment(clock),
          new TestKeyedBackend.Parameters<>(
              IntSerializer.INSTANCE, KeyGroupRange.of(0, 0), 1, clock::millis, List.of()),
          new KeyedBackendBuilder.Between(this::limited, threads -> clock));

  private static MockEnvironment environment(ManualTask task) {
    MockEnvironment environment = new MockEnvironmentBuilder().build();
    environment.setMainMailboxExecutor(task);
    return environment;
  }

  @AfterEach
  void close() {
    backend.close();
  }

  private ByteBackend limited(ByteBackend below) {
    return (ByteBackend)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {ByteBackend.class},
            (proxy, method, arguments) -> {
              boolean change = method.getName().equals("put") || method.getName().equals("merge");
              if (change && (int) arguments[3] > most) {
                throw StateBackendException.invalid("too long a change");
              }
              if (change) {
                changes.add(method.getName());
              }
              try {
                return method.invoke(below, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private InternalListState<Integer, Integer, String> list(ListStateDescriptor<String> descriptor)
      throws Exception {
    backend.get().setCurrentKey(7);
    @SuppressWarnings("unchecked")
    InternalListState<Integer, Integer, String> list =
        (InternalListState<Integer, Integer, String>)
            backend.get().getPartitionedState(TARGET, IntSerializer.INSTANCE, descriptor);
    return list;
  }

  private static ListStateDescriptor<String> descriptor() {
    return new ListStateDescriptor<>("list", StringSerializer.INSTANCE);
  }

  private static String element(int number) {
    return String.valueOf(number % 10).repeat(700_000);
  }

  private static List<String> elements(int from, int to) {
    List<String> elements = new ArrayList<>();
    for (int i = from; i < to; i++) {
      elements.add(element(i));
    }
    return elements;
  }

  /** What an assertion can print. */
  private static List<String> named(Iterable<String> elements) {
    List<String> named = new ArrayList<>();
    elements.forEach(each -> named.add(each.charAt(0) + " x " + each.length()));
    return named;
  }

  private static List<String> in(InternalListState<Integer, Integer, String> list, int namespace)
      throws Exception {
    list.setCurrentNamespace(namespace);
    List<String> elements = list.getInternal();
    return elements == null ? List.of() : elements;
  }

  private static void addEach(
      InternalListState<Integer, Integer, String> list, int namespace, List<String> elements)
      throws Exception {
    list.setCurrentNamespace(namespace);
    for (String element : elements) {
      list.add(element);
    }
  }

  @Test
  void mergeNamespaces_longerThanAChange_movesAll() throws Exception {
    InternalListState<Integer, Integer, String> list = list(descriptor());
    addEach(list, TARGET, elements(0, 2));
    addEach(list, 2, elements(2, 7));
    addEach(list, 3, elements(7, 9));
    // The target may be among the sources.
    list.mergeNamespaces(TARGET, List.of(2, TARGET, 3, 4));
    assertThat(named(list.getInternal())).isEqualTo(named(elements(0, 9)));
    assertThat(in(list, 2)).isEmpty();
    assertThat(in(list, 3)).isEmpty();
  }

  /** An operand that is itself longer than a change, as a savepoint has it. */
  @Test
  void mergeNamespaces_ofOneLongOperand_movesAll() throws Exception {
    InternalListState<Integer, Integer, String> list = list(descriptor());
    most = Integer.MAX_VALUE;
    list.setCurrentNamespace(2);
    list.addAll(elements(0, 6));
    most = MOST_BYTES;
    list.mergeNamespaces(TARGET, List.of(2));
    assertThat(named(list.getInternal())).isEqualTo(named(elements(0, 6)));
    assertThat(in(list, 2)).isEmpty();
  }

  @Test
  void mergeNamespaces_thatIsRefused_losesNothing() throws Exception {
    InternalListState<Integer, Integer, String> list = list(descriptor());
    addEach(list, 2, elements(0, 1));
    addEach(list, 3, elements(1, 2));
    most = 100;
    assertThatThrownBy(() -> list.mergeNamespaces(TARGET, List.of(2, 3)))
        .isInstanceOf(StateBackendException.class);
    assertThat(named(in(list, 2))).isEqualTo(named(elements(0, 1)));
    assertThat(named(in(list, 3))).isEqualTo(named(elements(1, 2)));
  }

  @Test
  void cleanup_thatLeavesMoreThanAChange_replacesTheList() throws Exception {
    ListStateDescriptor<String> expiring = descriptor();
    expiring.enableTimeToLive(StateTtlConfig.newBuilder(TTL).build());
    InternalListState<Integer, Integer, String> list = list(expiring);
    addEach(list, TARGET, elements(0, 1));
    clock.sleep(Duration.ofMinutes(30));
    addEach(list, TARGET, elements(1, 7));
    changes.clear();
    // Only the first expires; the interval is a quarter of an hour.
    clock.pass(Duration.ofMinutes(55));
    assertThat(changes).startsWith("put", "merge");
    assertThat(named(list.get())).isEqualTo(named(elements(1, 7)));
  }
}
