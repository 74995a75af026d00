package io.alluvium.internal.restore;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.spi.TableFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LocalFileCacheTest {

  @TempDir private Path directory;
  private final FaultyStore store = new FaultyStore();

  private LocalFileCache cache() {
    return new LocalFileCache(directory.resolve("cache"));
  }

  private Path local(byte[] content) throws IOException {
    return Files.write(Files.createTempFile(directory, "local", ""), content);
  }

  @Test
  void lookup_absent_isEmpty() {
    TableFile file = store.store("1.sst", new byte[] {1}, true);
    assertThat(cache().lookup(file)).isEmpty();
  }

  @Test
  void add_immutableFile_isALink() throws IOException {
    byte[] content = {1, 2, 3};
    TableFile file = store.store("1.sst", content, true);
    Path path = local(content);
    cache().add(path, file);
    assertThat(Files.isSameFile(cache().lookup(file).orElseThrow(), path)).isTrue();
  }

  @Test
  void add_mutableFile_isACopy() throws IOException {
    byte[] content = {1, 2, 3};
    TableFile file = store.store("CURRENT", content, false);
    Path path = local(content);
    cache().add(path, file);
    Files.write(path, new byte[] {9});
    assertThat(cache().lookup(file).orElseThrow()).hasBinaryContent(content);
  }

  @Test
  void add_again_leavesNothingTemporary() throws IOException {
    byte[] content = {1, 2, 3};
    TableFile file = store.store("1.sst", content, true);
    Path path = local(content);
    cache().add(path, file);
    cache().add(path, file);
    try (Stream<Path> entries = Files.list(directory.resolve("cache"))) {
      assertThat(entries).hasSize(1);
    }
  }

  @Test
  void lookup_damagedCopy_isEmpty() throws IOException {
    byte[] content = {1, 2, 3};
    TableFile file = store.store("CURRENT", content, false);
    cache().add(local(content), file);
    Files.write(cache().lookup(file).orElseThrow(), new byte[] {1, 2, 4});
    assertThat(cache().lookup(file)).isEmpty();
  }

  @Test
  void retain_someFiles_deletesTheOthers() throws IOException {
    TableFile kept = store.store("1.sst", new byte[] {1}, true);
    TableFile dropped = store.store("2.sst", new byte[] {2}, true);
    cache().add(local(new byte[] {1}), kept);
    cache().add(local(new byte[] {2}), dropped);
    cache().retain(List.of(kept));
    assertThat(cache().lookup(kept)).isPresent();
    assertThat(cache().lookup(dropped)).isEmpty();
  }
}
