package io.alluvium.internal.blob;

import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlobStoreProvider;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Opens {@code memory:} (a new store each time) and {@code memory:NAME} (the same content for the
 * same name within the process). Thread-safe.
 */
public final class MemoryBlobStoreProvider implements BlobStoreProvider {

  private static final Map<String, MemoryBlobStore.Content> NAMED = new ConcurrentHashMap<>();

  @Override
  public String scheme() {
    return "memory";
  }

  @Override
  public List<Option<?>> options() {
    return List.of();
  }

  @Override
  public BlobStore open(URI uri, Configuration configuration) {
    String name = uri.getSchemeSpecificPart();
    MemoryBlobStore.Content content =
        name.isEmpty() || name.equals("/") || name.equals("//")
            ? new MemoryBlobStore.Content()
            : NAMED.computeIfAbsent(name, unused -> new MemoryBlobStore.Content());
    return new MemoryBlobStore(content, uri.toString(), System::currentTimeMillis);
  }
}
