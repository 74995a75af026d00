package io.alluvium;

import io.alluvium.bytes.ByteBackend;
import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.serializer.Serializer;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * Alluvium in one process: the blob store, the shared log uploader, the materializer, the catalog
 * of checkpoints, and a {@link KeyedBackend} for each subtask. Opening it does no I/O beyond what
 * its stores need: local directories are made with the takeover, or with the first backend of a
 * subtask. A job is owned from {@link CheckpointCatalog#takeOver} on. Thread-safe.
 */
public interface StateBackend extends AutoCloseable {

  /**
   * Opens a backend from text settings; see {@code docs/configuration.md}.
   *
   * @throws StateBackendException {@code INVALID}, with all problems of the configuration at once
   */
  static StateBackend open(Properties properties) {
    Map<String, String> values = new java.util.LinkedHashMap<>();
    Arguments.check(properties, "properties");
    for (String key : properties.stringPropertyNames()) {
      values.put(key, properties.getProperty(key));
    }
    return open(values);
  }

  /** As {@link #open(Properties)}. */
  static StateBackend open(Map<String, String> settings) {
    return io.alluvium.internal.backend.ProcessBackend.open(settings, Components.defaults());
  }

  /** As {@link #open(Properties)}, with clock, threads, randomness or metrics of the caller's. */
  static StateBackend open(Map<String, String> settings, Components components) {
    return io.alluvium.internal.backend.ProcessBackend.open(settings, components);
  }

  /**
   * Every option that something on the class path reads, by key ascending: the core's own and those
   * of the tables, logs and blob stores that were found.
   */
  static List<Option<?>> options() {
    return io.alluvium.internal.backend.Providers.find().options();
  }

  Configuration configuration();

  /**
   * The job's checkpoints; its {@code takeOver} comes before any {@link #keyed}. {@code INVALID}
   * when the {@link Components} name somebody else who keeps the checkpoints.
   */
  CheckpointCatalog catalog();

  /** Looks at and checks stored checkpoints without owning the job. */
  CheckpointInspector inspector();

  /**
   * Makes the keyed backend of one subtask, empty or restored. Call it from the thread that will
   * use it, or hand it over safely, see {@link KeyedBackend}; a restore blocks until the state is
   * there.
   *
   * @param key serializer of the keys
   * @param maxParallelism number of key groups of the job
   * @param keyGroups what this subtask owns
   * @param restoreFrom handles of one checkpoint, as many as there are; those that do not overlap
   *     are ignored
   * @param mode how the restored blobs may be used afterwards
   */
  <K> KeyedBackend<K> keyed(
      Serializer<K> key,
      int maxParallelism,
      KeyGroupRange keyGroups,
      List<CheckpointHandle> restoreFrom,
      RestoreMode mode);

  /**
   * Makes the backend of one subtask at the level of bytes, for an engine with state kinds and
   * serializers of its own; otherwise as {@link #keyed}.
   */
  ByteBackend bytes(
      int maxParallelism,
      KeyGroupRange keyGroups,
      List<CheckpointHandle> restoreFrom,
      RestoreMode mode);

  /**
   * An empty keyed backend. For a job that has a checkpoint with state, pass its handles; to begin
   * without them call {@link CheckpointCatalog#startOver}, or the first commit is {@code INVALID}.
   */
  default <K> KeyedBackend<K> keyed(
      Serializer<K> key, int maxParallelism, KeyGroupRange keyGroups) {
    return keyed(key, maxParallelism, keyGroups, List.of(), RestoreMode.REUSE);
  }

  /**
   * Closes every keyed backend, then the rest. Any thread may call it at any time, also while tasks
   * work or a restore is under way: it waits for the call into a table that a task is inside of,
   * which user code never is, and for restores to notice. What a task calls later throws {@code
   * CLOSED}. A task that is elsewhere, for example waits for records, is not waited for. A caller
   * that was interrupted before waits for native memory only; an interrupt during the wait ends it,
   * and what is in use is freed when that use ends. Idempotent.
   */
  @Override
  void close();
}
