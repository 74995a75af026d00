package io.alluvium.blobstore.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlobStoreProvider;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class S3BlobStoreProviderTest {

  @Test
  void options_areFoundByTheProcess() {
    assertThat(StateBackend.options()).contains(S3Options.ENDPOINT, S3Options.MAX_ATTEMPTS);
  }

  @Test
  void options_loadNoClassOfTheSdk() throws ReflectiveOperationException {
    BlobStoreProvider provider =
        (BlobStoreProvider)
            new WithoutSdk()
                .loadClass(S3BlobStoreProvider.class.getName())
                .getDeclaredConstructor()
                .newInstance();
    assertThat(provider.scheme()).isEqualTo("s3");
    assertThat(provider.options()).hasSize(S3Options.ALL.size());
    assertThatThrownBy(
            () -> provider.open(URI.create("s3://b/p"), Configuration.of(Map.of(), List.of())))
        .as("the loader really hides the SDK")
        .isInstanceOf(NoClassDefFoundError.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "s3:///p",
        "s3:p",
        "s3://host:9000/b",
        "s3://key@b/p",
        "s3://b/p?x",
        "s3://b/a//b"
      })
  void open_badUri_isInvalidAndNamesIt(String uri) {
    assertInvalid(uri, Map.of(), uri);
  }

  @ParameterizedTest
  @CsvSource({
    "s3.endpoint, localhost:9000",
    "s3.endpoint, ftp://localhost",
    "s3.endpoint, http:",
    "s3.sse.kms-key-id, some-key"
  })
  void open_badSetting_isInvalidAndNamesIt(String key, String value) {
    assertInvalid("s3://b/p", Map.of(key, value), key);
  }

  @ParameterizedTest
  @CsvSource({"s3://b, ''", "s3://b/, ''", "s3://b/p, p/", "s3://b/p/q/, p/q/"})
  void location_givesThePrefixOfKeys(String uri, String prefix) {
    assertThat(S3Location.parse(URI.create(uri)).keyPrefix()).isEqualTo(prefix);
  }

  private static void assertInvalid(String uri, Map<String, String> values, String named) {
    Configuration configuration = Configuration.of(values, S3Options.ALL);
    assertThatThrownBy(
            () -> {
              BlobStore unused = new S3BlobStoreProvider().open(URI.create(uri), configuration);
            })
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
        .hasMessageContaining(named);
  }

  /** Loads this module's classes anew and none of the SDK's. */
  private static final class WithoutSdk extends ClassLoader {

    WithoutSdk() {
      super(S3BlobStoreProvider.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.startsWith("software.amazon.") || name.startsWith("io.netty.")) {
        throw new ClassNotFoundException(name);
      }
      if (!name.startsWith(S3BlobStoreProvider.class.getPackageName())) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded == null ? define(name) : loaded;
      }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
      try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
        if (in == null) {
          throw new ClassNotFoundException(name);
        }
        byte[] bytes = in.readAllBytes();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }
}
