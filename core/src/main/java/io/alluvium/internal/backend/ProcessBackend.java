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
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.serializer.Serializer;
import io.alluvium.spi.UseGuard;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

/**
 * One process: what its backends share, and the backends. Thread-safe; restores of several subtasks
 * run side by side.
 */
public final class ProcessBackend implements StateBackend {

  private final Configuration configuration;
  private final ProcessParts parts;
  private final SubtaskFactory subtasks;
  private final List<SubtaskFactory.Opened<?>> open = new CopyOnWriteArrayList<>();

  /** Restores that are under way use what the process shares. */
  private final UseGuard restores = new UseGuard("this state backend", () -> {});

  private ProcessBackend(Configuration configuration, ProcessParts parts) {
    this.configuration = configuration;
    this.parts = parts;
    this.subtasks = new SubtaskFactory(configuration, parts);
  }

  /** See {@link StateBackend#open(Map, Components)}. */
  public static StateBackend open(Map<String, String> settings, Components components) {
    Arguments.check(settings, "settings");
    Arguments.check(components, "components");
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
    SubtaskFactory.Request request =
        new SubtaskFactory.Request(maxParallelism, keyGroups, restoreFrom, mode);
    Arguments.check(key, "key");
    return opened(() -> subtasks.keyed(request, key));
  }

  @Override
  public ByteBackend bytes(
      int maxParallelism,
      KeyGroupRange keyGroups,
      List<CheckpointHandle> restoreFrom,
      RestoreMode mode) {
    SubtaskFactory.Request request =
        new SubtaskFactory.Request(maxParallelism, keyGroups, restoreFrom, mode);
    return opened(() -> subtasks.bytes(request));
  }

  private <T> T opened(Supplier<SubtaskFactory.Opened<T>> opening) {
    if (!restores.tryEnter()) {
      throw closed();
    }
    try {
      SubtaskFactory.Opened<T> subtask = opening.get();
      open.removeIf(other -> other.bytes().isClosed());
      open.add(subtask);
      if (restores.isClosed()) {
        // Restoring took longer than the process lived.
        subtask.bytes().close();
        throw closed();
      }
      return subtask.facade();
    } finally {
      restores.exit();
    }
  }

  private void checkOpen() {
    if (restores.isClosed()) {
      throw closed();
    }
  }

  private static StateBackendException closed() {
    return StateBackendException.closed(
        "this state backend is closed; open another one to go on with the job");
  }

  @Override
  public void close() {
    if (!restores.shut()) {
      return;
    }
    Closing closing = new Closing();
    closing.run(subtasks::cancelRestores);
    restores.exit();
    open.forEach(subtask -> closing.run(subtask.bytes()::close));
    closing.run(() -> parts.execution().await(restores.released()));
    closing.run(parts::close);
    closing.rethrow();
  }
}
