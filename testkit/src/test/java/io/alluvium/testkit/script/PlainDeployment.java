package io.alluvium.testkit.script;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointInspector;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.spi.Incarnation;
import io.alluvium.testkit.model.ModelJob;
import io.alluvium.testkit.model.Texts;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A deployment whose backend is the model itself. Shows that the runner accepts a correct backend,
 * and that it finds an injected defect. Confined to one thread.
 */
final class PlainDeployment implements Deployment {

  /** A defect: changes the id of the restored checkpoint, or ignores some calls. */
  record Defect(UnaryOperator<Long> restored, String ignoredMethod) {
    static final Defect NONE = new Defect(id -> id, "");
  }

  private final Defect defect;
  private final ModelJob<String> job = new ModelJob<>(Texts.INSTANCE, 8);
  private final Set<Long> taken = new TreeSet<>();
  private final List<Checkpoint> committed = new ArrayList<>();

  PlainDeployment(Defect defect) {
    this.defect = defect;
  }

  @Override
  public StateBackend start(Map<String, String> settings) {
    return proxy(
        StateBackend.class,
        (method, arguments) ->
            switch (method) {
              case "catalog" -> catalog();
              case "inspector" -> proxy(CheckpointInspector.class, (name, unused) -> List.of());
              case "close" -> "";
              case "keyed" -> subtask((KeyGroupRange) arguments[2]);
              default -> throw new UnsupportedOperationException(method);
            });
  }

  private CheckpointCatalog catalog() {
    return proxy(
        CheckpointCatalog.class,
        (method, arguments) ->
            switch (method) {
              case "takeOver" -> takeOver();
              case "restoreMode" -> RestoreMode.REUSE;
              case "latest" -> committed.stream().reduce((older, newer) -> newer);
              case "commit" -> commit((long) arguments[0]);
              case "collectGarbage" -> "";
              default -> throw new UnsupportedOperationException(method);
            });
  }

  private Optional<Checkpoint> takeOver() {
    long newest = committed.isEmpty() ? 0 : committed.get(committed.size() - 1).id();
    long id = defect.restored.apply(newest);
    job.restore(id);
    taken.clear();
    return committed.stream().filter(checkpoint -> checkpoint.id() == id).findFirst();
  }

  private CheckpointCatalog.Commit commit(long id) {
    Checkpoint checkpoint =
        new Checkpoint(
            id, id, "job", new Incarnation(1, 2), "test", Instant.EPOCH, List.of(), new byte[0]);
    committed.add(checkpoint);
    return new CheckpointCatalog.Commit(checkpoint, true, 0);
  }

  private KeyedBackend<String> subtask(KeyGroupRange range) {
    KeyedBackend<String> model = job.subtask(range);
    @SuppressWarnings("unchecked")
    KeyedBackend<String> subtask =
        (KeyedBackend<String>)
            proxy(
                KeyedBackend.class,
                (method, arguments) -> {
                  if (method.equals("checkpoint") && taken.add((long) arguments[0])) {
                    job.checkpoint((long) arguments[0]);
                  }
                  return switch (method) {
                    case "checkpoint" -> CompletableFuture.completedFuture(handle(range));
                    case "confirm", "abort", "close", "idle" -> "";
                    case "setCurrentKey" -> {
                      model.setCurrentKey((String) arguments[0]);
                      yield "";
                    }
                    default ->
                        method.equals(defect.ignoredMethod)
                            ? Stream.empty()
                            : invoke(model, method, arguments);
                  };
                });
    return subtask;
  }

  private static CheckpointHandle handle(KeyGroupRange range) {
    return new CheckpointHandle(
        1, range, 8, 0, List.of(), List.of(), Texts.INSTANCE.snapshot(), List.of());
  }

  private static Object invoke(KeyedBackend<String> model, String method, Object[] arguments) {
    try {
      for (Method each : KeyedBackend.class.getMethods()) {
        if (each.getName().equals(method)
            && each.getParameterCount() == arguments.length
            && (arguments.length == 0 || each.getParameterTypes()[0].isInstance(arguments[0]))) {
          return each.invoke(model, arguments);
        }
      }
      throw new UnsupportedOperationException(method);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new LinkageError(method, e);
    }
  }

  private interface Handler {
    Object call(String method, Object[] arguments);
  }

  private static <T> T proxy(Class<T> type, Handler handler) {
    InvocationHandler handle =
        (self, method, arguments) ->
            handler.call(method.getName(), arguments == null ? new Object[0] : arguments);
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handle));
  }

  @Override
  public void kill() {}

  @Override
  public <T> T await(CompletableFuture<T> future) {
    return future.join();
  }

  @Override
  public void sleep(Duration duration) {}

  @Override
  public Duration materializationPause() {
    return Duration.ZERO;
  }

  @Override
  public void pause(String step) {}

  @Override
  public void fault(String rule) {}

  @Override
  public void heal() {}

  @Override
  public List<String> blobs(String prefix) {
    return List.of();
  }

  @Override
  public void lose(String blob) {
    throw new UnsupportedOperationException(blob);
  }

  @Override
  public void flip(String blob) {
    throw new UnsupportedOperationException(blob);
  }

  @Override
  public void close() {}
}
