package io.alluvium.internal.backend;

import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointInspector;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.bytes.ByteBackend;
import io.alluvium.config.Configuration;
import io.alluvium.serializer.Serializer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * One process: what its backends share, and the backends. Thread-safe; restores of several subtasks
 * run side by side.
 */
public final class ProcessBackend implements StateBackend {

  private final Configuration configuration;
  private final ProcessParts parts;
  private final SubtaskFactory subtasks;
  private final List<SubtaskFactory.Opened<?>> open = new CopyOnWriteArrayList<>();
  private volatile boolean closed;

  private ProcessBackend(Configuration configuration, ProcessParts parts) {
    this.configuration = configuration;
    this.parts = parts;
    this.subtasks = new SubtaskFactory(configuration, parts);
  }

  /** See {@link StateBackend#open(Map, Components)}. */
  public static StateBackend open(Map<String, String> settings, Components components) {
    Providers providers = Providers.find();
    Configuration configuration = providers.configure(settings);
    ProcessParts parts = new ProcessParts(configuration, providers, components);
    return new ProcessBackend(configuration, parts);
  }

  @Override
  public Configuration configuration() {
    return configuration;
  }

  @Override
  public CheckpointCatalog catalog() {
    checkOpen();
    return parts.catalog();
  }

  @Override
  public CheckpointInspector inspector() {
    checkOpen();
    return parts.inspector();
  }

  @Override
  public <K> KeyedBackend<K> keyed(
      Serializer<K> key,
      int maxParallelism,
      KeyGroupRange keyGroups,
      List<CheckpointHandle> restoreFrom,
      RestoreMode mode) {
    checkOpen();
    return added(
        subtasks.keyed(
            new SubtaskFactory.Request(maxParallelism, keyGroups, restoreFrom, mode), key));
  }

  @Override
  public ByteBackend bytes(
      int maxParallelism,
      KeyGroupRange keyGroups,
      List<CheckpointHandle> restoreFrom,
      RestoreMode mode) {
    checkOpen();
    return added(
        subtasks.bytes(new SubtaskFactory.Request(maxParallelism, keyGroups, restoreFrom, mode)));
  }

  private <T> T added(SubtaskFactory.Opened<T> subtask) {
    open.removeIf(other -> other.bytes().isClosed());
    open.add(subtask);
    if (closed) {
      // Restoring took longer than the process lived.
      subtask.close().run();
      checkOpen();
    }
    return subtask.facade();
  }

  private void checkOpen() {
    if (closed) {
      throw StateBackendException.closed(
          "this state backend is closed; open another one to go on with the job");
    }
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    Closing closing = new Closing();
    open.forEach(subtask -> closing.run(subtask.close()));
    closing.run(parts::close);
    closing.rethrow();
  }
}
