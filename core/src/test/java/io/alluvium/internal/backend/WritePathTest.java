package io.alluvium.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.spi.Changelog;
import io.alluvium.spi.Table;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the limit of a change keeps from the table, and what it does not. */
class WritePathTest {

  private static final byte[] KEY = new byte[20];
  private static final byte[] VALUE = new byte[10];

  private final List<String> tableCalls = new ArrayList<>();

  private final Table table =
      (Table)
          Proxy.newProxyInstance(
              getClass().getClassLoader(),
              new Class<?>[] {Table.class},
              (proxy, method, arguments) -> {
                tableCalls.add(method.getName());
                return null;
              });

  private final Changelog changelog =
      (Changelog)
          Proxy.newProxyInstance(
              getClass().getClassLoader(),
              new Class<?>[] {Changelog.class},
              (proxy, method, arguments) -> {
                if (method.getName().equals("append")) {
                  throw new AssertionError("a change was logged");
                }
                return 7L;
              });

  private final WritePath writes = new WritePath(table, changelog);

  @Test
  void put_largerThanAChange_reachesNothing() {
    assertThatThrownBy(() -> writes.put(KEY, KEY.length, VALUE, Changelog.MAX_CHANGE_BYTES))
        .hasMessageContainingAll(String.valueOf(Changelog.MAX_CHANGE_BYTES), "map state");
    assertThat(tableCalls).isEmpty();
    writes.checkOpen();
  }

  /** A list that grew by appends is one value in a savepoint. */
  @Test
  void load_largerThanAChange_reachesTheTable() {
    writes.load(KEY, KEY.length, VALUE, Changelog.MAX_CHANGE_BYTES + 1);
    assertThat(tableCalls).containsExactly("put");
  }
}
