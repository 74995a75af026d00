package io.alluvium.flink;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.CoreOptions;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.TableProvider;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What the keyed backends of a TaskManager share, and how they find their tables. Thread-safe. */
final class SharedResources {

  private static final int LEAST_MATERIALIZATIONS = 4;
  private static final int MOST_MATERIALIZATIONS = 64;

  private static final Object LOCK = new Object();

  @GuardedBy("LOCK")
  private static @Nullable Threads threads;

  @GuardedBy("LOCK")
  private static int users;

  private SharedResources() {}

  /**
   * Threads of the process.
   *
   * @param files store the files of checkpoints: as many as that takes, since a storage that hangs
   *     may keep them. Each checkpoint under way bounds its files; attempts of one that was given
   *     up are closed, but one whose stream cannot even be closed keeps its thread until the
   *     storage answers
   * @param diskChecked whether a table has looked at the local disk
   */
  record Threads(Execution execution, ExecutorService files, AtomicBoolean diskChecked) {

    private void close() {
      files.shutdown();
      execution.close();
    }
  }

  /**
   * The threads of the process; each call is followed by one {@link #releaseThreads}.
   *
   * @param slots of the TaskManager
   */
  static Threads threads(Settings settings, int slots) {
    Configuration configuration = configuration(settings.core());
    synchronized (LOCK) {
      Threads shared = threads;
      if (shared == null) {
        shared =
            new Threads(
                Execution.threads(
                    configuration.get(CoreOptions.UPLOAD_THREADS),
                    configuration.get(CoreOptions.RESTORE_THREADS),
                    settings.core().containsKey(CoreOptions.MATERIALIZE_THREADS.key())
                        ? configuration.get(CoreOptions.MATERIALIZE_THREADS)
                        : materializations(slots)),
                Executors.newCachedThreadPool(Execution.threadFactory("alluvium-store")),
                new AtomicBoolean());
        threads = shared;
      }
      users++;
      return shared;
    }
  }

  /**
   * How many backends materialize at once. Their threads wait most of the time, for the pace and
   * for a storage that is slow; one whose storage hangs must leave enough for the others.
   */
  static int materializations(int slots) {
    return Math.max(LEAST_MATERIALIZATIONS, Math.min(2 * slots, MOST_MATERIALIZATIONS));
  }

  static void releaseThreads() {
    Threads last = null;
    synchronized (LOCK) {
      users--;
      if (users == 0) {
        last = threads;
        threads = null;
      }
    }
    if (last != null) {
      last.close();
    }
  }

  /** Opens tables of another type than RocksDB. */
  static TableProvider.Tables openTables(Settings settings, Execution execution, Metrics metrics) {
    String wanted = settings.core().getOrDefault("state.backend.type", "rocksdb");
    for (TableProvider provider :
        ServiceLoader.load(TableProvider.class, SharedResources.class.getClassLoader())) {
      if (provider.name().equals(wanted)) {
        return provider.open(configuration(settings.core()), execution, metrics);
      }
    }
    throw StateBackendException.invalid(
        "the value '"
            + wanted
            + "' of '"
            + AlluviumOptions.TABLE.key()
            + "' is neither 'rocksdb' nor 'heap'");
  }

  static Configuration configuration(Map<String, String> settings) {
    return withOwnClassLoader(() -> Configuration.of(settings, StateBackend.options()));
  }

  /** Runs with this class's loader in the place of the thread's, for core's look-ups. */
  static <T> T withOwnClassLoader(Supplier<T> work) {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(SharedResources.class.getClassLoader());
    try {
      return work.get();
    } finally {
      thread.setContextClassLoader(before);
    }
  }
}
