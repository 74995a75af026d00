package io.alluvium.cli.runner;

import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.internal.blob.FileBlobStoreProvider;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlobStoreProvider;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.util.List;

/** {@code denying:/directory}: a directory in which nothing may be deleted. Thread-safe. */
public final class DenyingStores implements BlobStoreProvider {

  @Override
  public String scheme() {
    return "denying";
  }

  @Override
  public List<Option<?>> options() {
    return List.of();
  }

  @Override
  public BlobStore open(URI uri, Configuration configuration) {
    BlobStore files =
        new FileBlobStoreProvider()
            .open(URI.create("file:" + uri.getSchemeSpecificPart()), configuration);
    return (BlobStore)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {BlobStore.class},
            (proxy, method, arguments) -> {
              if (method.getName().startsWith("delete")) {
                throw StateBackendException.invalid("deletions are denied");
              }
              try {
                return method.invoke(files, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }
}
