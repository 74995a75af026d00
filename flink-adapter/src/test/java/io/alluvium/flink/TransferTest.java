package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.spi.BlobName;
import io.alluvium.spi.Execution;
import io.alluvium.spi.RetryPolicy;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of the files of a checkpoint that comes to nothing. */
final class TransferTest {

  private final Execution execution = Execution.threads(2, 1, 1);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final CloseableRegistry registry = new CloseableRegistry();
  private final BlobName name = new Names(new Random(1)).next(BlobName.Kind.LOG);

  @TempDir private Path directory;

  @AfterEach
  void stop() {
    threads.shutdownNow();
    execution.close();
  }

  private Transfer transfer(Shelf shelf) {
    FlinkBlobStore store =
        new FlinkBlobStore(directory, FlinkBlobStore.Copies.DROPPED, Runnable::run);
    store.put(name.toString(), List.of(ByteBuffer.wrap(new byte[100])));
    store.announce(1);
    CheckpointFiles files =
        new CheckpointFiles(
            execution,
            threads,
            new RetryPolicy(RetryPolicy.Kind.NONE, 1, Duration.ofMillis(2), Duration.ofHours(1)),
            new Random(1),
            new StoreMetrics(new CountedMetrics()));
    return new Transfer(
        store,
        1,
        new Transfer.Target(files, streams(shelf), CheckpointedStateScope.SHARED, registry));
  }

  private static CheckpointStreamFactory streams(Shelf shelf) {
    return new CheckpointStreamFactory() {
      @Override
      public CheckpointStateOutputStream createCheckpointStateOutputStream(
          CheckpointedStateScope scope) throws IOException {
        return shelf.open();
      }

      @Override
      public boolean canFastDuplicate(StreamStateHandle handle, CheckpointedStateScope scope) {
        return false;
      }

      @Override
      public List<StreamStateHandle> duplicate(
          List<StreamStateHandle> handles, CheckpointedStateScope scope) {
        throw new UnsupportedOperationException();
      }
    };
  }

  /** Nobody else may close it: the registry is the task's until the checkpoint is cancelled. */
  @Test
  void interruptWhileAStreamHangs_endsTheStream() throws Exception {
    Shelf shelf = new Shelf(List.of(Shelf.Fate.HANGS));
    Transfer transfer = transfer(shelf);
    CompletableFuture<Transfer.Result> done = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                done.complete(transfer.run(List.of(name)));
              } catch (Exception e) {
                done.completeExceptionally(e);
              }
            });
    thread.start();
    Eventually.that(() -> shelf.opened() == 1);
    thread.interrupt();
    assertThatThrownBy(() -> done.get(1, TimeUnit.MINUTES))
        .hasMessageContaining("interrupted while a file of a checkpoint was stored");
    Eventually.that(() -> shelf.files().isEmpty());
    assertThat(registry.isClosed()).isFalse();
  }

  @Test
  void undo_afterAllIsStored_discardsTheFiles() throws Exception {
    Shelf shelf = new Shelf(List.of());
    Transfer transfer = transfer(shelf);
    assertThat(transfer.run(List.of(name)).newBytes()).isEqualTo(100);
    assertThat(shelf.files()).containsExactly(1);
    transfer.undo();
    Eventually.that(() -> shelf.files().isEmpty());
  }
}
