package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Pace;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStateToolset;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.util.function.SupplierWithException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Uploads into a storage that hangs: nobody else may come to a stop by it. */
final class TaskOwnedUploadsTest {

  private static final byte[] CONTENT = new byte[100];
  private static final Duration HOURS = Duration.ofHours(2);

  private final Execution execution = Execution.threads(1, 1, 1);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Names names = new Names(new Random(1));
  private final Shelf shelf = new Shelf(Collections.nCopies(10, Shelf.Fate.STUCK));
  private FlinkBlobStore store;
  private TaskOwnedUploads uploads;

  @TempDir private Path directory;

  @BeforeEach
  void open() {
    store = new FlinkBlobStore(directory, FlinkBlobStore.Copies.DROPPED, threads);
    uploads =
        new TaskOwnedUploads(
            () -> new ShelfStorage(shelf::open),
            execution,
            threads,
            new StoreMetrics(new CountedMetrics()));
    store.setEarlyUploads(uploads);
  }

  @AfterEach
  void stop() throws Exception {
    shelf.release();
    threads.shutdown();
    assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
    execution.close();
  }

  private void put(BlobName name) {
    store.put(name.toString(), List.of(ByteBuffer.wrap(CONTENT)));
  }

  @Test
  void put_ofTheLog_doesNotWaitAndLeavesTheThirdToItsCheckpoint() throws Exception {
    for (int i = 0; i < 5; i++) {
      put(names.next(BlobName.Kind.LOG));
    }
    Eventually.that(() -> shelf.opened() >= 2);
    Thread.sleep(50);
    assertThat(shelf.opened()).isEqualTo(2);
  }

  @Test
  void close_whileAMaterializationIsStuck_letsItGoAndLeavesNoFile() throws Exception {
    BlobName name = names.next(BlobName.Kind.TABLE);
    CompletableFuture<Void> put = CompletableFuture.runAsync(() -> put(name), threads);
    Eventually.that(() -> shelf.opened() >= 1);
    assertThat(put).isNotDone();
    uploads.close();
    assertThatThrownBy(() -> put.get(1, TimeUnit.MINUTES))
        .hasCauseInstanceOf(StateBackendException.class)
        .hasMessageContaining("the backend was closed");
    store.close();
    shelf.release();
    threads.shutdown();
    assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
    assertThat(shelf.files()).isEmpty();
  }

  /** An interval of many hours and a small table: its pieces are hours apart. */
  @Test
  void putFile_whosePaceTakesHours_isStored() throws Exception {
    ManualTask clock = new ManualTask();
    FlinkBlobStore paced = storeWith(clock, () -> new Shelf(List.of()).open());
    paced.putFile(names.next(BlobName.Kind.TABLE).toString(), file(), bytes -> pass(clock, HOURS));
  }

  @Test
  void putFile_thatSendsNothingForLong_fails() throws Exception {
    ManualTask clock = new ManualTask();
    FlinkBlobStore hanging =
        storeWith(
            clock,
            () -> {
              pass(clock, HOURS);
              return new Shelf(List.of()).open();
            });
    String name = names.next(BlobName.Kind.TABLE).toString();
    assertThatThrownBy(() -> hanging.putFile(name, file(), Pace.NONE))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("nothing was sent for");
  }

  @Test
  void putFile_thatNothingWatches_isNotBegun() {
    ManualTask clock = new ManualTask();
    clock.refuse(true);
    Shelf unused = new Shelf(List.of());
    FlinkBlobStore unwatched = storeWith(clock, unused::open);
    String name = names.next(BlobName.Kind.TABLE).toString();
    assertThatThrownBy(() -> unwatched.putFile(name, file(), Pace.NONE))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("no thread could be had");
    assertThat(unused.opened()).isZero();
  }

  /** It would never end if it hung from now on. */
  @Test
  void putFile_thatNothingWatchesAnyMore_fails() {
    ManualTask clock = new ManualTask();
    Shelf left = new Shelf(List.of());
    FlinkBlobStore paced = storeWith(clock, left::open);
    String name = names.next(BlobName.Kind.TABLE).toString();
    Pace withoutThreads =
        bytes -> {
          clock.refuse(true);
          try {
            pass(clock, HOURS);
          } catch (InternalError e) {
            // A scheduler logs what a task of it throws.
          }
        };
    assertThatThrownBy(() -> paced.putFile(name, file(), withoutThreads))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("no thread could be had");
    assertThat(left.files()).isEmpty();
  }

  private Path file() throws IOException {
    return Files.write(directory.resolve("table-file"), CONTENT);
  }

  /** Everything runs on the test's thread. */
  private FlinkBlobStore storeWith(
      ManualTask clock, SupplierWithException<CheckpointStateOutputStream, IOException> stream) {
    FlinkBlobStore own =
        new FlinkBlobStore(directory.resolve("own"), FlinkBlobStore.Copies.DROPPED, Runnable::run);
    own.setEarlyUploads(
        new TaskOwnedUploads(
            () -> new ShelfStorage(stream),
            clock,
            Runnable::run,
            new StoreMetrics(new CountedMetrics())));
    return own;
  }

  private static void pass(ManualTask clock, Duration time) {
    try {
      clock.pass(time);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private record ShelfStorage(
      SupplierWithException<CheckpointStateOutputStream, IOException> stream)
      implements CheckpointStorageWorkerView {
    @Override
    public CheckpointStreamFactory resolveCheckpointStorageLocation(
        long checkpointId, CheckpointStorageLocationReference reference) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CheckpointStateOutputStream createTaskOwnedStateStream() throws IOException {
      return stream.get();
    }

    @Override
    public CheckpointStateToolset createTaskOwnedCheckpointStateToolset() {
      throw new UnsupportedOperationException();
    }
  }
}
