package io.alluvium.testkit.blob;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobStore;
import io.alluvium.testkit.conformance.BlobStoreConformance;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Without rules, a conforming store; with rules, exactly the matching calls fail. */
final class FaultyBlobStoreTest extends BlobStoreConformance {

  private final List<Duration> slept = new ArrayList<>();
  private final MapBlobStore map = new MapBlobStore();
  private final FaultyBlobStore faulty = new FaultyBlobStore(map, slept::add);

  @Override
  protected BlobStore open() {
    return new FaultyBlobStore(new MapBlobStore());
  }

  @Test
  void failBefore_secondPut_storesNothing() {
    faulty.rule("fail before put data/* #2");
    put("data/a");
    put("slots/x");
    assertThatThrownBy(() -> put("data/b"))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("data/b");
    put("data/c");
    assertThat(map.content().keySet()).containsExactly("data/a", "data/c", "slots/x");
  }

  @Test
  void failAfter_putIfAbsent_storesAndThrows() {
    faulty.rule("fail after putifabsent slots/*");
    assertThatThrownBy(() -> faulty.putIfAbsent("slots/1", new byte[3]))
        .isInstanceOf(StateBackendException.class);
    assertThat(map.size("slots/1")).hasValue(3);
  }

  @Test
  void throttle_rangeOfCalls_laterOnesSucceed() {
    faulty.rule("throttle put * #1-2");
    assertThatThrownBy(() -> put("data/a")).hasMessageContaining("503");
    assertThatThrownBy(() -> put("data/a")).hasMessageContaining("503");
    put("data/a");
    assertThat(faulty.count(BlobOp.PUT)).isEqualTo(3);
  }

  @Test
  void readFaults_storedBlob_isUnchanged() {
    put("data/a");
    faulty.rule("short 2 read data/a #1");
    faulty.rule("flip 1.0 read data/a #2");
    assertThatThrownBy(() -> faulty.read("data/a", 0, 4))
        .hasMessageContaining("damaged at offset 2");
    assertThat(faulty.read("data/a", 0, 4)).asString(UTF_8).isEqualTo("bxte");
    assertThat(faulty.read("data/a", 0, 4)).asString(UTF_8).isEqualTo("byte");
  }

  @Test
  void writeFaults_damagedBlob_isStored() throws Exception {
    faulty.rule("truncate 2 put data/a");
    faulty.rule("flip 5.7 put data/b");
    put("data/a");
    faulty.putFile("data/b", Files.writeString(directory.resolve("f"), "byte"));
    assertThat(map.content().get("data/a")).asString(UTF_8).isEqualTo("by");
    assertThat(map.read("data/b", 1, 1)).containsExactly('y' ^ 0x80);
  }

  @Test
  void delay_call_waitsAndSucceeds() {
    faulty.rule("delay 100ms list * #1");
    faulty.list("");
    faulty.list("");
    assertThat(slept).containsExactly(Duration.ofMillis(100));
  }

  @Test
  void trace_everyKindOfCall_isRecorded() {
    faulty.rule("fail before delete data/*");
    put("data/a");
    faulty.putIfAbsent("slots/1", new byte[3]);
    faulty.size("data/a");
    faulty.read("data/a", 1, 2);
    faulty.list("data/");
    assertThatThrownBy(() -> faulty.delete(List.of("data/a", "data/b")));
    assertThat(faulty.trace())
        .containsExactly(
            "put data/a 4 bytes",
            "putifabsent slots/1 3 bytes",
            "size data/a",
            "read data/a [1, 3)",
            "list data/",
            "delete data/a data/b -> fail before");
  }

  @Test
  void stop_laterCalls_failWithoutEffect() {
    faulty.stop();
    assertThatThrownBy(() -> put("data/a")).isInstanceOf(StateBackendException.class);
    assertThatThrownBy(() -> faulty.list("")).isInstanceOf(StateBackendException.class);
    assertThat(map.content()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "fail before put data/* #2",
        "fail after putifabsent slots/*",
        "throttle put data/*.log #1-5",
        "delay 100ms list *",
        "short 10 read data/* #1",
        "flip 17.3 read data/* #3+",
        "truncate 10 put data/* #1"
      })
  void rule_parsedAndPrinted_isTheSameText(String line) {
    assertThat(FaultRule.parse(line)).hasToString(line);
  }

  @Test
  void parse_invalidRule_throws() {
    assertThatThrownBy(() -> FaultRule.parse("fail sometimes put data/*"))
        .hasMessageContaining("fail sometimes");
  }

  private void put(String name) {
    faulty.put(name, List.of(ByteBuffer.wrap("byte".getBytes(UTF_8))));
  }
}
