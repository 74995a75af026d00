package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;

/** The one jar that users install holds all of Alluvium and nothing that Flink brings. */
final class InstallJarIT {

  private static JarFile open() throws IOException {
    List<Path> jars = new ArrayList<>();
    try (DirectoryStream<Path> found =
        Files.newDirectoryStream(Path.of("target"), "alluvium-flink-adapter-*.jar")) {
      found.forEach(jars::add);
    }
    assertThat(jars).hasSize(1);
    return new JarFile(jars.get(0).toFile());
  }

  @Test
  void jar_holdsNothingOfOthers() throws IOException {
    try (JarFile jar = open()) {
      assertThat(jar.stream().map(ZipEntry::getName).filter(name -> name.endsWith(".class")))
          .isNotEmpty()
          .allMatch(name -> name.startsWith("io/alluvium/"));
      assertThat(jar.stream().map(ZipEntry::getName))
          .noneMatch(name -> name.endsWith(".so") || name.endsWith(".dll"))
          .contains(
              "io/alluvium/flink/AlluviumStateBackendFactory.class",
              "io/alluvium/rocksdb/RocksDbTableProvider.class",
              "io/alluvium/dstl/FileSystemStorageProvider.class",
              "io/alluvium/shaded/net/jpountz/lz4/LZ4Factory.class");
    }
  }

  @Test
  void jar_namesEveryProvider() throws IOException {
    assertThat(services("io.alluvium.spi.TableProvider"))
        .contains("io.alluvium.rocksdb.RocksDbTableProvider", "HeapTableProvider");
    assertThat(services("io.alluvium.spi.ChangelogStorageProvider"))
        .contains("io.alluvium.dstl.FileSystemStorageProvider");
  }

  private static String services(String service) throws IOException {
    try (JarFile jar = open()) {
      ZipEntry entry = jar.getEntry("META-INF/services/" + service);
      assertThat(entry).as(service).isNotNull();
      try (InputStream in = jar.getInputStream(entry)) {
        return new String(in.readAllBytes(), StandardCharsets.UTF_8);
      }
    }
  }
}
