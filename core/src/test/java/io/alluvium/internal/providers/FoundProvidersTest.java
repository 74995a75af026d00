package io.alluvium.internal.providers;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.internal.heap.HeapTableProvider;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlobStoreProvider;
import io.alluvium.spi.TableProvider;
import java.io.File;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FoundProvidersTest {

  @TempDir Path dir;

  /** What only an application's own class loader knows. */
  public static final class OfAnApplication implements BlobStoreProvider {
    @Override
    public String scheme() {
      return "app";
    }

    @Override
    public List<Option<?>> options() {
      return List.of();
    }

    @Override
    public BlobStore open(URI uri, Configuration configuration) {
      throw new UnsupportedOperationException();
    }
  }

  @Test
  void of_threadWithTheLibrarysLoader_findsEachOnce() {
    assertThat(tables(FoundProviders.class.getClassLoader())).containsOnlyOnce("heap");
  }

  @Test
  void of_threadWithoutALoader_findsTheLibrarysOwn() {
    assertThat(tables(null)).containsOnlyOnce("heap");
  }

  @Test
  void of_threadWithALoaderThatKnowsNothing_findsTheLibrarysOwn() throws Exception {
    try (URLClassLoader foreign =
        new URLClassLoader(new URL[0], ClassLoader.getPlatformClassLoader())) {
      assertThat(tables(foreign)).containsOnlyOnce("heap");
    }
  }

  @Test
  void of_threadWithALoaderOfAnotherCopy_findsTheLibrarysOwnAlone() throws Exception {
    List<URL> classPath = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      classPath.add(Path.of(entry).toUri().toURL());
    }
    try (URLClassLoader copy =
        new URLClassLoader(classPath.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
      assertThat(copy.loadClass(HeapTableProvider.class.getName()))
          .isNotEqualTo(HeapTableProvider.class);
      assertThat(tables(copy)).containsOnlyOnce("heap");
    }
  }

  @Test
  void of_threadWithALoaderThatKnowsMore_findsBoth() throws Exception {
    Path services = Files.createDirectories(dir.resolve("META-INF/services"));
    Files.writeString(
        services.resolve(BlobStoreProvider.class.getName()),
        OfAnApplication.class.getName() + "\nio.alluvium.NotThere\n");
    try (URLClassLoader more =
        new URLClassLoader(
            new URL[] {dir.toUri().toURL()}, FoundProviders.class.getClassLoader())) {
      assertThat(schemes(more)).containsOnlyOnce("app", "file", "memory");
    }
    assertThat(schemes(null)).containsOnlyOnce("file", "memory").doesNotContain("app");
  }

  private static List<String> tables(@Nullable ClassLoader context) {
    return with(context, TableProvider.class).stream().map(TableProvider::name).toList();
  }

  private static List<String> schemes(@Nullable ClassLoader context) {
    return with(context, BlobStoreProvider.class).stream().map(BlobStoreProvider::scheme).toList();
  }

  @SuppressWarnings("NullAway") // A thread may have no loader, whatever the annotation says.
  private static <S> List<S> with(@Nullable ClassLoader context, Class<S> service) {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(context);
    try {
      return FoundProviders.of(service);
    } finally {
      thread.setContextClassLoader(before);
    }
  }
}
