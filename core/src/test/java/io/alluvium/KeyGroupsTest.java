package io.alluvium;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

final class KeyGroupsTest {
  /** Published vectors of MurmurHash3 x86_32 with seed 0; they may never change. */
  @Test
  void ofBytes_isMurmur3() {
    assertThat(group("")).isEqualTo(0);
    assertThat(group("a")).isEqualTo((0x3c2569b2 & Integer.MAX_VALUE) % 32768);
    assertThat(group("abc")).isEqualTo((0xb3dd93fa & Integer.MAX_VALUE) % 32768);
    assertThat(group("Hello, world!")).isEqualTo((0xc0363e43 & Integer.MAX_VALUE) % 32768);
    assertThat(group("The quick brown fox jumps over the lazy dog"))
        .isEqualTo((0x2e4ff723 & Integer.MAX_VALUE) % 32768);
  }

  @Test
  void of_isTheGroupOfTheSerializedForm() {
    KeyGroups<String> groups = new KeyGroups<>(new Utf8(), 32768);
    for (String key : new String[] {"", "a", "Hello, world!"}) {
      assertThat(groups.of(key)).isEqualTo(group(key));
    }
  }

  @Test
  void maxParallelism_outOfRange_throws() {
    assertThatThrownBy(() -> new KeyGroups<>(new Utf8(), 0))
        .isInstanceOf(StateBackendException.class)
        .hasMessage("maximum parallelism 0 must lie within [1, 32768]");
  }

  private static int group(String key) {
    byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
    return KeyGroups.ofBytes(bytes, bytes.length, 32768);
  }

  private static final class Utf8 implements Serializer<String> {
    @Override
    public void write(String value, ByteWriter out) {
      out.writeBytes(value.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public String read(ByteReader in) {
      return new String(in.readBytes(in.remaining()), StandardCharsets.UTF_8);
    }

    @Override
    public SerializerSnapshot snapshot() {
      return new SerializerSnapshot("utf8", 1, new byte[0]);
    }
  }
}
