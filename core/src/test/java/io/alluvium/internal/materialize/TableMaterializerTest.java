package io.alluvium.internal.materialize;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableSnapshot;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** What goes beyond the whole backends of the simulations. */
class TableMaterializerTest {

  private final Deque<Runnable> scheduled = new ArrayDeque<>();
  private final Deque<Runnable> background = new ArrayDeque<>();
  private int threadsToRefuse;
  private int timersToRefuse;
  private Runnable whileItIsTaken = () -> {};
  private long nanos;
  private int snapshots;
  private final Bases bases = new Bases("test-1", new KeyGroupRange(0, 1), Optional.empty());

  /** The task may be the one that asks, and a run that is never noticed to be over is the last. */
  @Test
  void runSoon_noThreadCanBeStarted_isAFailedRunThatIsTriedAgain() {
    TableMaterializer materializer = materializer();
    threadsToRefuse = 2;
    materializer.runSoon();
    assertThat(scheduled).hasSize(1);
    scheduled.remove().run();
    assertThat(scheduled).hasSize(1);
    scheduled.remove().run();
    background.remove().run();
    assertThat(snapshots).isEqualTo(1);
  }

  /** Each checkpoint asks while the changelog is too long, which it is while runs fail. */
  @Test
  void runSoon_afterAFailedRun_leavesItToThePause() {
    TableMaterializer materializer = materializer();
    threadsToRefuse = 1;
    materializer.runSoon();
    for (int i = 0; i < 100; i++) {
      materializer.runSoon();
    }
    assertThat(background).isEmpty();
    assertThat(scheduled).hasSize(1);
    nanos = Duration.ofSeconds(1).toNanos();
    materializer.runSoon();
    assertThat(background).hasSize(1);
  }

  /** What stands before it is another backend's, and may hang; the task that ends must not. */
  @Test
  void close_whileAStoreIsOnlyQueued_doesNotWaitForIt() {
    TableMaterializer materializer = materializer();
    CompletableFuture<Bases.Base> stored = materializer.materializeNow(5);
    materializer.close();
    assertThat(stored).isCompletedExceptionally();
    assertThat(stored.handle((base, failure) -> failure).join())
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("closed");
    background.remove().run();
    assertThat(bases.newestPosition(-1)).as("its turn").isEqualTo(-1);
  }

  /** As when the process ends meanwhile: what is handed to its threads is dropped. */
  @Test
  void materializeNow_closedMeanwhile_fails() {
    List<TableMaterializer> closed = new ArrayList<>();
    whileItIsTaken = () -> closed.get(0).close();
    TableMaterializer materializer = materializer();
    closed.add(materializer);
    CompletableFuture<Bases.Base> stored = materializer.materializeNow(5);
    assertThat(stored).isCompletedExceptionally();
    assertThat(stored.handle((base, failure) -> failure).join())
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("closed");
  }

  /** A timer that cannot be had must not be the end of all materializations. */
  @Test
  void start_noTimer_theFirstCheckpointAfterThePauseBeginsARun() {
    TableMaterializer materializer = materializer();
    timersToRefuse = 1;
    materializer.start(Duration.ofMinutes(1));
    assertThat(scheduled).isEmpty();
    materializer.catchUp();
    assertThat(background).as("before it is due").isEmpty();
    nanos = Duration.ofMinutes(1).toNanos();
    materializer.catchUp();
    materializer.catchUp();
    assertThat(background).hasSize(1);
    background.remove().run();
    assertThat(snapshots).isEqualTo(1);
  }

  @Test
  void failedRun_noTimerForTheNext_isTriedAgainByACheckpoint() {
    TableMaterializer materializer = materializer();
    threadsToRefuse = 1;
    timersToRefuse = 1;
    materializer.runSoon();
    assertThat(scheduled).isEmpty();
    nanos = Duration.ofSeconds(2).toNanos();
    materializer.catchUp();
    background.remove().run();
    assertThat(snapshots).isEqualTo(1);
  }

  private TableMaterializer materializer() {
    Execution execution =
        stub(
            Execution.class,
            method ->
                switch (method) {
                  case "nanoTime" -> nanos;
                  case "materializations" -> (Executor) this::execute;
                  default -> throw new AssertionError(method);
                });
    Object neverDone = new CompletableFuture<TableSnapshot>();
    Table table =
        stub(
            Table.class,
            method -> {
              snapshots++;
              whileItIsTaken.run();
              return method.equals("snapshotNow")
                  ? new TableSnapshot(Path.of("unused"), List.of())
                  : neverDone;
            });
    return new TableMaterializer(
        new TableMaterializer.Target(
            "test",
            table,
            Path.of("unused"),
            () -> 1,
            0,
            bases,
            new TableUploader(
                stub(BlobStore.class, method -> method),
                stub(BlobNames.class, method -> method),
                TableUploader.Keeper.NONE,
                List.of()),
            new UploadPacer(execution).share(new UploadPacer.Settings(Duration.ZERO, 0)),
            () -> {}),
        new TableMaterializer.Policy(Duration.ofMinutes(10), 3),
        execution,
        new Random(1),
        new MaterializationMetrics(execution, Metrics.NONE));
  }

  private void execute(Runnable task) {
    if (threadsToRefuse > 0) {
      threadsToRefuse--;
      throw new OutOfMemoryError("unable to create native thread");
    }
    background.add(task);
  }

  /** Answers calls by the name of what was called, except that tasks are scheduled. */
  private <T> T stub(Class<T> type, Function<String, Object> answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              if (method.getName().equals("await")) {
                assertThat((CompletableFuture<?>) arguments[0]).isDone();
                return true;
              }
              if (method.getName().equals("schedule")) {
                if (timersToRefuse > 0) {
                  timersToRefuse--;
                  throw new OutOfMemoryError("unable to create native thread");
                }
                scheduled.add((Runnable) arguments[1]);
                return (Execution.Scheduled) () -> {};
              }
              return answers.apply(method.getName());
            }));
  }
}
