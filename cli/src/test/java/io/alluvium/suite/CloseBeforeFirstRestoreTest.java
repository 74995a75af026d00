package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.bytes.ByteBackend;
import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.TableProvider;
import io.alluvium.testkit.blob.MapBlobStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.ServiceLoader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A close that comes before a process has begun its first restore cancels it all the same. */
final class CloseBeforeFirstRestoreTest {

  private static final KeyGroupRange GROUPS = new KeyGroupRange(0, 4);
  private static final byte[] KEY = {0, 1, 7, 1, 'k', 0};

  @TempDir private Path directory;

  private final MapBlobStore store = new MapBlobStore();
  private final AtomicLong counter = new AtomicLong();
  private final CountDownLatch closing = new CountDownLatch(1);
  private Runnable whenAskedForANameOwner = () -> {};

  /** Is asked for its incarnation before each restore. */
  private final BlobNames names =
      new BlobNames() {
        @Override
        public BlobName next(BlobName.Kind kind) {
          return new BlobName(new Incarnation(1, 2), counter.getAndIncrement(), kind);
        }

        @Override
        public Incarnation incarnation() {
          whenAskedForANameOwner.run();
          return new Incarnation(1, 2);
        }
      };

  /** Tells when the thread that closes begins to wait for what is under way. */
  private Execution watched(Execution threads) {
    return (Execution)
        Proxy.newProxyInstance(
            Execution.class.getClassLoader(),
            new Class<?>[] {Execution.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("await")
                  && Thread.currentThread().getName().equals("closer")) {
                closing.countDown();
              }
              try {
                return method.invoke(threads, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Test
  void close_beforeTheFirstRestoreBegins_cancelsIt() throws Exception {
    Map<String, String> settings =
        Map.of(
            "state.backend.type", "heap",
            "state.checkpoints.dir", "memory:unused",
            "state.backend.rocksdb.localdir", directory.toString());
    try (Execution threads = Execution.threads(1, 1, 1)) {
      Execution execution = watched(threads);
      try (TableProvider.Tables tables =
          ServiceLoader.load(TableProvider.class).stream()
              .map(ServiceLoader.Provider::get)
              .filter(provider -> provider.name().equals("heap"))
              .findFirst()
              .orElseThrow()
              .open(Configuration.of(settings, StateBackend.options()), execution, Metrics.NONE)) {
        Components components =
            new Components(
                Optional.of(store),
                Optional.of(execution),
                new Random(1),
                Metrics.NONE,
                Optional.of(new Components.Host(names, tables, () -> {}, Optional.empty())));
        CheckpointHandle handle;
        try (StateBackend process = StateBackend.open(settings, components)) {
          ByteBackend backend = process.bytes(4, GROUPS, List.of(), RestoreMode.REUSE);
          backend.put(KEY, KEY.length, KEY, KEY.length);
          handle = execution.await(backend.checkpoint(1));
          backend.confirm(1);
        }
        StateBackend process = StateBackend.open(settings, components);
        Thread closer = new Thread(process::close, "closer");
        whenAskedForANameOwner =
            () -> {
              whenAskedForANameOwner = () -> {};
              closer.start();
              awaitClosing();
            };
        assertThatThrownBy(() -> process.bytes(4, GROUPS, List.of(handle), RestoreMode.REUSE))
            .isInstanceOf(StateBackendException.class)
            .hasMessageContaining("the restore was cancelled");
        closer.join();
      }
    }
  }

  private void awaitClosing() {
    try {
      closing.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
