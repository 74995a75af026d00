package io.alluvium.internal.blob;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobStore;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BlobStoresTest {

  private static final Configuration EMPTY = Configuration.of(Map.of(), List.of());

  @TempDir Path directory;

  @Test
  void open_everySpellingOfADirectory_givesTheSameStore() {
    Path dir = directory.resolve("a store");
    try (BlobStore store = BlobStores.open(dir.toString(), EMPTY)) {
      store.put("data/a", List.of(ByteBuffer.wrap("ab".getBytes(UTF_8))));
    }
    for (String text :
        List.of(dir.toString(), "file://" + dir, "file:" + dir, dir.toUri().toString())) {
      try (BlobStore store = BlobStores.open(text, EMPTY)) {
        assertThat(store.size("data/a")).as(text).hasValue(2);
      }
    }
  }

  @Test
  void open_memoryWithName_isSharedInTheProcess() {
    try (BlobStore store = BlobStores.open("memory:BlobStoresTest", EMPTY);
        BlobStore same = BlobStores.open("memory:BlobStoresTest", EMPTY);
        BlobStore other = BlobStores.open("memory:", EMPTY)) {
      assertThat(store.putIfAbsent("slots/1", new byte[1])).isTrue();
      assertThat(same.putIfAbsent("slots/1", new byte[1])).isFalse();
      assertThat(other.putIfAbsent("slots/1", new byte[1])).isTrue();
    }
  }

  @Test
  void open_unknownScheme_namesTheKnownOnes() {
    assertInvalid("ftp://host/dir", "ftp", "file:, memory:");
  }

  @Test
  void open_hostInFileUri_saysThreeSlashes() {
    assertInvalid("file://tmp/x", "'tmp'", "three slashes");
  }

  @Test
  void open_pathThatMeansSomethingElse_isRefused() {
    // On Windows the first ones are what they seem.
    assumeThat(File.separatorChar).isEqualTo('/');
    for (String text :
        List.of("C:\\ck", "c:/ck", "C:", "\\\\server\\ck", "file:C:\\ck", "file:///C:/ck")) {
      assertInvalid(text, text.substring(text.length() - 2), "path of Windows", "/dir");
    }
    for (String text : List.of("~", "~/ck", "~me/ck", "file:~/ck", "file:///~/ck")) {
      assertInvalid(
          text, "'" + text + "'", "only a shell expands", System.getProperty("user.home"));
    }
    for (String text : List.of("/", "file:///", "file:/", "file:///tmp/..", "/..")) {
      assertInvalid(text, "root of the file system", "file:///var/lib");
    }
  }

  @Test
  void open_relativeDirectory_isShownWhole() {
    try (BlobStore store = BlobStores.open("file:target/relative", EMPTY)) {
      assertThat(store.uri()).isEqualTo("file://" + Path.of("target", "relative").toAbsolutePath());
    }
  }

  @Test
  void open_emptyText_isInvalid() {
    assertInvalid("", "no blob store");
    assertInvalid("file:", "file:");
  }

  private static void assertInvalid(String text, String... parts) {
    assertThatThrownBy(() -> BlobStores.open(text, EMPTY))
        .isInstanceOfSatisfying(
            StateBackendException.class,
            e -> assertThat(e.kind()).isEqualTo(StateBackendException.Kind.INVALID))
        .message()
        .contains(parts);
  }
}
