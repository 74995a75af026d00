package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.spi.BlobName;
import io.alluvium.spi.Pace;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FlinkBlobStoreTest {

  /** Too large to be kept in memory. */
  private final byte[] content = new byte[1 << 20];

  private final BlobName name = new Names(new Random(1)).next(BlobName.Kind.LOG);
  private FlinkBlobStore store;

  @TempDir private Path directory;

  @BeforeEach
  void open() {
    new Random(2).nextBytes(content);
    store = new FlinkBlobStore(directory, FlinkBlobStore.Copies.DROPPED, Runnable::run);
  }

  private void put() {
    store.put(name.toString(), List.of(ByteBuffer.wrap(content)));
  }

  /** Reads half of a blob, waits, and reads the rest. */
  private final class SlowUploads implements EarlyUploads {
    private final CountDownLatch halfWay = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);
    private final AtomicInteger stores = new AtomicInteger();

    @Override
    public boolean wants(Blob blob) {
      return true;
    }

    @Override
    public CompletableFuture<@Nullable StreamStateHandle> store(
        FlinkBlobStore from, Blob blob, Pace pace) {
      stores.incrementAndGet();
      return CompletableFuture.supplyAsync(() -> read(from, blob));
    }

    private StreamStateHandle read(FlinkBlobStore from, Blob blob) {
      ByteArrayOutputStream read = new ByteArrayOutputStream();
      try (InputStream in = from.open(blob)) {
        read.write(in.readNBytes(content.length / 2));
        halfWay.countDown();
        assertThat(goOn.await(1, TimeUnit.MINUTES)).isTrue();
        read.write(in.readAllBytes());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      return new ByteStreamStateHandle("early", read.toByteArray());
    }
  }

  /** Also the first one does not wait for the upload: the log goes on with our own copy. */
  @Test
  void put_again_whileTheFirstIsStoredEarly_leavesItAlone() throws Exception {
    SlowUploads uploads = new SlowUploads();
    store.setEarlyUploads(uploads);
    CompletableFuture.runAsync(this::put).get(1, TimeUnit.MINUTES);
    assertThat(uploads.halfWay.await(1, TimeUnit.MINUTES)).isTrue();
    Blob blob = store.blob(name);
    CompletableFuture.runAsync(this::put).get(1, TimeUnit.MINUTES);
    assertThat(store.blob(name)).isSameAs(blob);
    assertThat(store.takeEarly(blob)).isNull();
    uploads.goOn.countDown();
    assertThat(uploads.stores).hasValue(1);
    StreamStateHandle early = null;
    for (int i = 0; early == null && i < 3000; i++) {
      Thread.sleep(10);
      early = store.takeEarly(blob);
    }
    assertThat(early).isNotNull();
    assertThat(early.asBytesIfInMemory()).hasValue(content);
  }

  /** As when there is no thread or no timer for it. The log goes on with its own copy. */
  @Test
  void put_whoseEarlyUploadCannotBegin_isStoredEarlyByTheNextAttempt() {
    AtomicInteger asked = new AtomicInteger();
    StreamStateHandle early = new ByteStreamStateHandle("early", content);
    store.setEarlyUploads(
        new EarlyUploads() {
          @Override
          public boolean wants(Blob blob) {
            return true;
          }

          @Override
          public CompletableFuture<@Nullable StreamStateHandle> store(
              FlinkBlobStore from, Blob blob, Pace pace) {
            if (asked.incrementAndGet() == 1) {
              throw new IllegalStateException("no timer");
            }
            return CompletableFuture.completedFuture(early);
          }
        });
    put();
    assertThat(store.takeEarly(store.blob(name))).isNull();
    put();
    assertThat(asked).hasValue(2);
    assertThat(store.takeEarly(store.blob(name))).isSameAs(early);
  }

  @Test
  void writeTo_copyThatIsTooShort_fails() throws Exception {
    put();
    Path copy = directory.resolve(LocalCopies.nameOf(name));
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    store.writeTo(store.blob(name), written);
    assertThat(written.toByteArray()).isEqualTo(content);
    Path unused = Files.write(copy, new byte[10]);
    assertThatThrownBy(() -> store.writeTo(store.blob(name), new ByteArrayOutputStream()))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("has 10 bytes, expected " + content.length);
  }

  @Test
  void abort_ofOneWithAFileOfItsOwn_letsLaterOnesReferToTheKeptFileAgain() throws Exception {
    put();
    Place first = completed(1);
    Blob blob = store.blob(name);
    Place unused = begun(2);
    assertThat(store.keptFor(3, blob)).isNull();
    store.abort(2);
    assertThat(store.keptFor(3, blob)).isEqualTo(first);
  }

  /** It may turn out to need a file of its own, complete first, and so end the kept one. */
  @Test
  void keptFor_whileAnotherIsOnlyAnnounced_isNothing() throws Exception {
    put();
    Place first = completed(1);
    Blob blob = store.blob(name);
    store.announce(2);
    store.announce(3);
    List<Blob> unused = store.begin(3, List.of(name));
    assertThat(store.keptFor(3, blob)).isNull();
    store.abort(2);
    assertThat(store.keptFor(3, blob)).isEqualTo(first);
  }

  /**
   * The JobManager deletes it when a later checkpoint has completed, before anybody hears of it.
   */
  @Test
  void open_whoseKeptFileIsGone_readsThatOfTheNextCheckpoint() throws Exception {
    put();
    Place first = completed(1);
    Place unused = begun(2);
    first.handle().discardState();
    try (InputStream in = store.open(name.toString(), 100, 1000)) {
      assertThat(in.readAllBytes()).isEqualTo(Arrays.copyOfRange(content, 100, 1100));
    }
  }

  private Place completed(long id) throws IOException {
    Place place = begun(id);
    store.confirm(id);
    return place;
  }

  /** A checkpoint with a file of its own. */
  private Place begun(long id) throws IOException {
    List<Blob> blobs = store.begin(id, List.of(name));
    Path file = Files.write(directory.resolve("checkpoint-" + id), content);
    Place place =
        new Place(
            new FileStateHandle(new org.apache.flink.core.fs.Path(file.toUri()), content.length),
            0);
    store.give(id, blobs.get(0), place);
    return place;
  }
}
