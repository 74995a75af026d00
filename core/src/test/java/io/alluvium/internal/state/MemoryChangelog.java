package io.alluvium.internal.state;

import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Operation;
import io.alluvium.spi.Table;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Remembers every change. */
final class MemoryChangelog implements Changelog {

  record Change(Operation operation, byte[] key, byte[] value) {

    void applyTo(Table table) {
      switch (operation) {
        case PUT -> table.put(key, key.length, value, value.length);
        case DELETE -> table.delete(key, key.length);
        case DELETE_RANGE -> table.deleteRange(key, key.length);
        case MERGE -> table.merge(key, key.length, value, value.length);
      }
    }
  }

  final List<Change> changes = new ArrayList<>();

  /** Thrown by the next append, after it logged. */
  @Nullable RuntimeException failure;

  @Override
  public void awaitRoom() {}

  @Override
  public void append(
      Operation operation, byte[] key, int keyLength, byte[] value, int valueLength) {
    changes.add(
        new Change(operation, Arrays.copyOf(key, keyLength), Arrays.copyOf(value, valueLength)));
    RuntimeException thrown = failure;
    if (thrown != null) {
      failure = null;
      throw thrown;
    }
  }

  List<Operation> operations() {
    return changes.stream().map(Change::operation).toList();
  }

  @Override
  public long nextSqn() {
    return changes.size();
  }

  @Override
  public long seal() {
    return nextSqn();
  }

  @Override
  public CompletableFuture<List<BlockRef>> persist(long from) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long durableUpTo() {
    return 0;
  }

  @Override
  public void trim(long sqn) {}

  @Override
  public long bytesSince(long sqn) {
    return 0;
  }

  @Override
  public Set<BlobName> liveBlobs() {
    return Set.of();
  }

  @Override
  public void close() {}
}
