package io.alluvium.internal.blob;

import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Pace;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/**
 * Combines two stores: segments of the changelog are in one ({@code dstl.dfs.base-path}), all other
 * blobs in the other. Thread-safe.
 */
public final class SplitBlobStore implements BlobStore {

  private static final String LOG_SUFFIX = "." + BlobName.Kind.LOG.suffix();

  private final BlobStore log;
  private final BlobStore rest;

  public SplitBlobStore(BlobStore log, BlobStore rest) {
    this.log = log;
    this.rest = rest;
  }

  private BlobStore of(String name) {
    return name.endsWith(LOG_SUFFIX) ? log : rest;
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    of(name).put(name, content);
  }

  @Override
  public void putFile(String name, Path file) {
    of(name).putFile(name, file);
  }

  @Override
  public void putFile(String name, Path file, Pace pace) {
    of(name).putFile(name, file, pace);
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    return of(name).putIfAbsent(name, content);
  }

  @Override
  public OptionalLong size(String name) {
    return of(name).size(name);
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    return of(name).open(name, offset, length);
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    List<BlobInfo> found = new ArrayList<>();
    for (BlobStore store : List.of(log, rest)) {
      for (BlobInfo blob : store.list(prefix)) {
        // A blob in the wrong store is not reachable through this one, so that it is not listed.
        if (of(blob.name()) == store) {
          found.add(blob);
        }
      }
    }
    found.sort(Comparator.comparing(BlobInfo::name));
    return found;
  }

  @Override
  public void delete(Collection<String> names) {
    Map<Boolean, List<String>> byStore =
        names.stream().collect(Collectors.partitioningBy(name -> of(name) == rest));
    byStore.forEach(
        (inRest, part) -> {
          if (!part.isEmpty()) {
            (inRest ? rest : log).delete(part);
          }
        });
  }

  @Override
  public void deleteLeftovers(Duration olderThan) {
    log.deleteLeftovers(olderThan);
    rest.deleteLeftovers(olderThan);
  }

  @Override
  public String uri() {
    return rest.uri() + " (changelog: " + log.uri() + ")";
  }

  @Override
  public void close() {
    try {
      log.close();
    } finally {
      rest.close();
    }
  }
}
