package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackend;
import io.alluvium.config.Configuration;
import io.alluvium.config.CoreOptions;
import io.alluvium.spi.RetryPolicy;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.state.rocksdb.RocksDBOptions;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

final class SettingsTest {

  private static Settings of(Map<String, String> config) {
    return Settings.of(
        org.apache.flink.configuration.Configuration.fromMap(config),
        SettingsTest.class.getClassLoader());
  }

  @Test
  void defaults_areCompleteForCore() {
    Settings settings = of(Map.of());
    assertThat(settings.usesManagedMemory()).isTrue();
    assertThat(settings.changelogEnabled()).isTrue();
    assertThat(settings.onHeap()).isFalse();
    assertThat(settings.remarks()).isEmpty();
    Configuration checked = Configuration.of(settings.core(), StateBackend.options());
    assertThat(checked.asMap()).containsEntry("state.backend.type", "rocksdb");
  }

  @Test
  void options_reachCore_underItsNames() {
    Settings settings =
        of(
            Map.of(
                "alluvium.table", "heap",
                "alluvium.changelog.enabled", "false",
                "alluvium.changelog.periodic-materialize.interval", "3 min",
                "alluvium.changelog.max-failures-allowed", "7",
                "state.backend.rocksdb.thread.num", "4",
                "dstl.dfs.preemptive-persist-threshold", "7 mb",
                "state.changelog.enabled", "true"));
    assertThat(settings.core())
        .containsEntry("state.backend.type", "heap")
        .containsEntry("state.backend.changelog.enabled", "false")
        .containsEntry(
            "state.backend.changelog.periodic-materialize.interval",
            Duration.ofMinutes(3).toMillis() + " ms")
        .containsEntry("state.backend.changelog.max-failures-allowed", "7")
        .containsEntry("state.backend.rocksdb.thread.num", "4")
        .containsEntry("dstl.dfs.preemptive-persist-threshold", (7 << 20) + " b");
    assertThat(settings.remarks()).singleElement().asString().contains("on top of Alluvium");
    assertThat(settings.onHeap()).isTrue();
    assertThat(settings.changelogEnabled()).isFalse();
    Configuration unused = Configuration.of(settings.core(), StateBackend.options());
  }

  @Test
  void materializationInterval_isShortened_whereItWouldMeanTooManyPieces() {
    Map<String, String> everySecond = Map.of("execution.checkpointing.interval", "1 s");
    assertThat(interval(everySecond, 90)).isEqualTo(Duration.ofMinutes(10));
    assertThat(interval(everySecond, 100)).isEqualTo(Duration.ofSeconds(555));
    assertThat(interval(everySecond, 500)).isEqualTo(Duration.ofSeconds(111));
    assertThat(interval(everySecond, 50_000)).isEqualTo(Duration.ofSeconds(10));
    assertThat(interval(Map.of(), 500)).isEqualTo(Duration.ofMinutes(10));
    Map<String, String> given = new HashMap<>(everySecond);
    given.put("execution.checkpointing.min-pause", "5 s");
    assertThat(interval(given, 500)).isEqualTo(Duration.ofSeconds(555));
    given.put("alluvium.changelog.max-pieces", "10000");
    assertThat(interval(given, 500)).isEqualTo(Duration.ofSeconds(55));
    given.put("alluvium.changelog.max-pieces", "0");
    assertThat(interval(given, 500)).isEqualTo(Duration.ofMinutes(10));
    given.put("alluvium.changelog.max-pieces", "1");
    given.put("alluvium.changelog.periodic-materialize.interval", "0 s");
    assertThat(interval(given, 500)).isEqualTo(Duration.ZERO);
    given.put("alluvium.changelog.periodic-materialize.interval", "1 d");
    given.put("execution.checkpointing.interval", Long.MAX_VALUE + " ms");
    assertThat(interval(given, 500)).isEqualTo(Duration.ofDays(1));
  }

  private static Duration interval(Map<String, String> config, int subtasks) {
    Map<String, String> core = of(config).ofSubtasks(subtasks).core();
    return Configuration.of(core, StateBackend.options()).get(CoreOptions.MATERIALIZE_INTERVAL);
  }

  /** Flink 2 has new names for the options of its own log, and reads the old ones as well. */
  @Test
  void optionsOfTheLog_haveFlinksNewNamesToo() {
    Settings settings =
        of(
            Map.of(
                "state.changelog.dstl.dfs.upload.retry-policy", "fixed",
                "dstl.dfs.upload.max-attempts", "5",
                "state.changelog.dstl.dfs.upload.max-attempts", "7",
                "state.changelog.dstl.dfs.upload.next-attempt-delay", "20 ms",
                "dstl.dfs.upload.timeout", "3 s"));
    assertThat(RetryPolicy.of(Configuration.of(settings.core(), StateBackend.options())))
        .isEqualTo(
            new RetryPolicy(
                RetryPolicy.Kind.FIXED, 5, Duration.ofMillis(20), Duration.ofSeconds(3)));
  }

  @Test
  void managedMemory_isUsed_unlessTheSlotsIsFixed() {
    String fixedPerSlot = RocksDBOptions.FIX_PER_SLOT_MEMORY_SIZE.key();
    assertThat(of(Map.of(fixedPerSlot, "77 mb")).usesManagedMemory()).isFalse();
    assertThat(of(Map.of(RocksDBOptions.FIX_PER_TM_MEMORY_SIZE.key(), "1 gb")).usesManagedMemory())
        .isTrue();
    assertThat(of(Map.of(RocksDBOptions.USE_MANAGED_MEMORY.key(), "false")).usesManagedMemory())
        .isFalse();
  }

  @Test
  void wrongValue_failsWithTheOption_whenAKeyedBackendIsMade() {
    assertThatThrownBy(
            () ->
                TestKeyedBackend.open(
                    org.apache.flink.configuration.Configuration.fromMap(
                        Map.of("state.backend.rocksdb.thread.num", "many")),
                    new MockEnvironmentBuilder().build(),
                    new TestKeyedBackend.Parameters<>(
                        IntSerializer.INSTANCE,
                        KeyGroupRange.of(0, 1),
                        2,
                        TtlTimeProvider.DEFAULT,
                        List.of())))
        .hasStackTraceContaining("state.backend.rocksdb.thread.num");
  }

  @Test
  void backend_travelsWithTheJob() throws Exception {
    AlluviumStateBackend backend =
        new AlluviumStateBackendFactory()
            .createFromConfig(
                org.apache.flink.configuration.Configuration.fromMap(
                    Map.of("alluvium.table", "heap")),
                getClass().getClassLoader());
    assertThat(backend.useManagedMemory()).isFalse();
    AlluviumStateBackend copy = InstantiationUtil.clone(backend);
    assertThat(copy.useManagedMemory()).isFalse();
    assertThat(copy.getName()).isEqualTo("alluvium");
    assertThat(new AlluviumStateBackend().useManagedMemory()).isTrue();
  }

  /** Two keyed backends of a slot share one budget, which goes back when the last one closes. */
  @Test
  void managedMemory_isSharedBySlot_andGivenBack() throws Exception {
    var environment = new MockEnvironmentBuilder().setManagedMemorySize(32 << 20).build();
    var config = new org.apache.flink.configuration.Configuration();
    var parameters =
        new TestKeyedBackend.Parameters<>(
            IntSerializer.INSTANCE,
            KeyGroupRange.of(0, 1),
            2,
            TtlTimeProvider.DEFAULT,
            List.<KeyedStateHandle>of());
    long all = environment.getMemoryManager().availableMemory();
    var first = TestKeyedBackend.open(config, environment, parameters).get();
    long left = environment.getMemoryManager().availableMemory();
    assertThat(left).isLessThan(all);
    var second = TestKeyedBackend.open(config, environment, parameters).get();
    assertThat(environment.getMemoryManager().availableMemory()).isEqualTo(left);
    first.dispose();
    assertThat(environment.getMemoryManager().availableMemory()).isEqualTo(left);
    second.dispose();
    second.dispose();
    assertThat(environment.getMemoryManager().availableMemory()).isEqualTo(all);
    environment.close();
  }
}
