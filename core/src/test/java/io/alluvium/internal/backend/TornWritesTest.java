package io.alluvium.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreReport;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.backend.ByteSubtask.ChangelogMode;
import io.alluvium.internal.materialize.Bases;
import io.alluvium.internal.materialize.MaterializationMetrics;
import io.alluvium.internal.materialize.TableMaterializer;
import io.alluvium.internal.materialize.TableUploader;
import io.alluvium.internal.materialize.UploadPacer;
import io.alluvium.internal.restore.ReplaySpeed;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Table;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * A change that the table may hold and the log does not: no checkpoint says afterwards that all is
 * well.
 */
class TornWritesTest {

  private static final KeyGroupRange GROUPS = new KeyGroupRange(0, 4);
  private static final byte[] KEY = {0, 1, 7, 1, 'k', 0};

  private final Object nothingToStore = CompletableFuture.completedFuture(List.of());
  private long next = 5;
  private int tableChanges;
  private @Nullable Throwable ofTheWait;
  private @Nullable Throwable ofTheTable;
  private @Nullable Throwable beforeLogged;
  private @Nullable Throwable afterLogged;
  private final Execution execution =
      stub(
          Execution.class,
          (method, arguments) ->
              switch (method) {
                case "nanoTime" -> 0L;
                case "first" -> ((Supplier<?>) arguments[0]).get();
                default -> throw new AssertionError(method);
              });
  private final ByteSubtask backend = backend();

  private interface Answers {
    @Nullable Object to(String method, Object[] arguments) throws Throwable;
  }

  private static <T> T stub(Class<T> type, Answers answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> answers.to(method.getName(), arguments)));
  }

  private static void fail(@Nullable Throwable failure) throws Throwable {
    if (failure != null) {
      throw failure;
    }
  }

  private @Nullable Object table(String method, Object[] arguments) throws Throwable {
    fail(ofTheTable);
    tableChanges++;
    return null;
  }

  private @Nullable Object changelog(String method, Object[] arguments) throws Throwable {
    if (method.equals("append")) {
      fail(beforeLogged);
      next++;
      fail(afterLogged);
      return null;
    }
    if (method.equals("awaitRoom")) {
      fail(ofTheWait);
      return null;
    }
    return switch (method) {
      case "nextSqn" -> next;
      case "bytesSince" -> 0L;
      case "persist" -> nothingToStore;
      default -> throw new AssertionError(method);
    };
  }

  private ByteSubtask backend() {
    Table table = stub(Table.class, this::table);
    Changelog changelog = stub(Changelog.class, this::changelog);
    WritePath writes = new WritePath(table, changelog);
    Bases bases = new Bases("test-1", GROUPS, Optional.of(new Bases.Base(1_000, List.of())));
    TableMaterializer materializer =
        new TableMaterializer(
            new TableMaterializer.Target(
                "test",
                table,
                Path.of("unused"),
                writes::appliedUpTo,
                0,
                bases,
                new TableUploader(
                    stub(BlobStore.class, (method, arguments) -> method),
                    stub(BlobNames.class, (method, arguments) -> method),
                    TableUploader.Keeper.NONE,
                    List.of()),
                new UploadPacer(execution).share(new UploadPacer.Settings(Duration.ZERO, 0)),
                () -> {}),
            new TableMaterializer.Policy(Duration.ofMinutes(10), 3),
            execution,
            new Random(1),
            new MaterializationMetrics(execution, Metrics.NONE));
    return new ByteSubtask(
        new ByteSubtask.Parts(
            table,
            changelog,
            writes,
            bases,
            new PendingCheckpoints(bases, sqn -> {}),
            materializer),
        new ByteSubtask.Context(
            GROUPS,
            4,
            ChangelogMode.ENABLED,
            new RestoreReport(0, 0, 0, 0, 0, 0, 0, 0, 0),
            execution,
            new CheckpointMetrics(execution, Metrics.NONE, new ReplaySpeed()),
            Duration.ZERO,
            bytes -> false,
            () -> {}));
  }

  private void put() {
    backend.put(KEY, KEY.length, KEY, KEY.length);
  }

  private void checkRefused(CompletableFuture<CheckpointHandle> checkpoint, Kind kind, String why) {
    assertThat(checkpoint).as("is refused at once").isCompletedExceptionally();
    assertThatThrownBy(checkpoint::join)
        .cause()
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(kind))
        .hasMessageContaining("checkpoints of this keyed backend are impossible from now on")
        .hasMessageContaining(why)
        .hasMessageContaining("start the job again");
  }

  @Test
  void append_endsInAnError_laterCheckpointsAreRefused() {
    put();
    beforeLogged = new OutOfMemoryError("test");
    assertThatThrownBy(this::put).isSameAs(beforeLogged);
    beforeLogged = null;
    put();
    checkRefused(backend.checkpoint(1), Kind.INTERNAL, "the changelog refused");
    checkRefused(backend.checkpoint(2), Kind.INTERNAL, "OutOfMemoryError: test");
    checkRefused(
        backend.copy(3, stub(BlobStore.class, (method, arguments) -> method)),
        Kind.INTERNAL,
        "OutOfMemoryError: test");
  }

  @Test
  void append_refusesTheChange_laterCheckpointsAreRefused() {
    beforeLogged = StateBackendException.invalid("a change of key group 9 outside");
    for (Runnable change :
        List.<Runnable>of(
            () -> backend.delete(KEY, KEY.length),
            () -> backend.deleteRange(KEY, KEY.length),
            () -> backend.merge(KEY, KEY.length, KEY, KEY.length))) {
      assertThatThrownBy(change::run).isSameAs(beforeLogged);
    }
    checkRefused(backend.checkpoint(1), Kind.INVALID, "a change of key group 9 outside");
  }

  @Test
  void table_endsInAnError_laterCheckpointsAreRefused() {
    ofTheTable = new OutOfMemoryError("test");
    assertThatThrownBy(this::put).isSameAs(ofTheTable);
    ofTheTable = null;
    checkRefused(backend.checkpoint(1), Kind.INTERNAL, "may hold a change");
  }

  /** It is logged; and what fails next is told apart all the same. */
  @Test
  void append_failsAfterItLogged_tearsNothing() {
    afterLogged = StateBackendException.unavailable("too late", new IllegalStateException());
    assertThatThrownBy(this::put).isSameAs(afterLogged);
    assertThatThrownBy(this::put).isSameAs(afterLogged);
    afterLogged = null;
    assertThat(backend.checkpoint(1)).isCompleted();
    beforeLogged = new IllegalStateException("test");
    assertThatThrownBy(this::put).isSameAs(beforeLogged);
    checkRefused(backend.checkpoint(2), Kind.INTERNAL, "IllegalStateException: test");
  }

  /** So that it can be repeated; a list would hold its element twice. */
  @Test
  void awaitRoom_isInterrupted_nothingIsApplied() {
    ofTheWait = StateBackendException.unavailable("interrupted", new InterruptedException());
    for (Runnable change :
        List.<Runnable>of(
            this::put,
            () -> backend.delete(KEY, KEY.length),
            this::deleteRange,
            () -> backend.merge(KEY, KEY.length, KEY, KEY.length))) {
      assertThatThrownBy(change::run).isSameAs(ofTheWait);
    }
    assertThat(tableChanges).as("changes of the table").isZero();
    assertThat(next).as("of the changelog").isEqualTo(5);
    ofTheWait = null;
    put();
    assertThat(tableChanges).isEqualTo(1);
    assertThat(backend.checkpoint(1)).isCompleted();
  }

  @Test
  void table_refuses_orIsClosed_tearsNothing() {
    ofTheTable = StateBackendException.unavailable("disk full", new IllegalStateException());
    assertThatThrownBy(this::put).isSameAs(ofTheTable);
    ofTheTable = null;
    beforeLogged = StateBackendException.closed("closed");
    assertThatThrownBy(this::put).isSameAs(beforeLogged);
    assertThat(backend.checkpoint(1)).isCompleted();
  }

  /** Some of its keys may be gone, whatever the table says. */
  @Test
  void table_failsAtARange_laterCheckpointsAreRefused() {
    ofTheTable = StateBackendException.unavailable("disk full", new IllegalStateException());
    assertThatThrownBy(this::deleteRange).isSameAs(ofTheTable);
    ofTheTable = null;
    checkRefused(backend.checkpoint(1), Kind.INTERNAL, "may hold a change");
    checkRefused(backend.checkpoint(2), Kind.INTERNAL, "disk full");
  }

  @Test
  void table_refusesARange_orIsClosed_tearsNothing() {
    for (StateBackendException refusal :
        List.of(StateBackendException.invalid("too short"), StateBackendException.closed("shut"))) {
      ofTheTable = refusal;
      assertThatThrownBy(this::deleteRange).isSameAs(ofTheTable);
    }
    ofTheTable = null;
    assertThat(backend.checkpoint(1)).isCompleted();
  }

  private void deleteRange() {
    backend.deleteRange(KEY, KEY.length);
  }
}
