package io.alluvium.internal.materialize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.internal.blob.LocalDirectoryBlobStore;
import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Pace;
import io.alluvium.spi.TableFile;
import io.alluvium.spi.TableSnapshot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which blobs are live while snapshots are stored, fail and are given up. */
final class TableUploaderTest {

  /** Hands out names, and remembers them. */
  private static final class Names implements BlobNames {
    private final Incarnation incarnation = Incarnation.random(new Random(1));
    private final List<BlobName> given = new ArrayList<>();

    @Override
    public BlobName next(BlobName.Kind kind) {
      BlobName name = new BlobName(incarnation, given.size(), kind);
      given.add(name);
      return name;
    }

    @Override
    public Incarnation incarnation() {
      return incarnation;
    }
  }

  private final Names names = new Names();
  private final MemoryBlobStore store =
      new MemoryBlobStore(new MemoryBlobStore.Content(), "memory:test", () -> 0L);
  private Runnable onImmutableStored = () -> {};
  private final TableUploader uploader =
      new TableUploader(
          store,
          names,
          new TableUploader.Keeper() {
            @Override
            public void stored(Path local, TableFile file) {
              onImmutableStored.run();
            }

            @Override
            public void retain(List<TableFile> files) {}
          },
          List.of());

  @TempDir private Path directory;

  private TableSnapshot.File file(String name, boolean immutable) throws IOException {
    Path path = Files.writeString(directory.resolve(name), name);
    return new TableSnapshot.File(name, path, Files.size(path), immutable);
  }

  private TableUploader.Upload upload(TableSnapshot.File... files) {
    return uploader.upload(new TableSnapshot(directory, List.of(files)), bytes -> Pace.NONE);
  }

  @Test
  void upload_thatFails_leavesWhatAnotherStoresLive() throws Exception {
    TableSnapshot.File manifest = file("MANIFEST-1", false);
    TableSnapshot.File table = file("1.sst", true);
    TableSnapshot.File other = file("MANIFEST-2", false);
    TableSnapshot.File missing =
        new TableSnapshot.File("2.sst", directory.resolve("none"), 1, true);
    onImmutableStored =
        () -> {
          assertThatThrownBy(() -> upload(other, missing))
              .isInstanceOf(StateBackendException.class)
              .hasMessageContaining("cannot read local table file");
          assertThat(uploader.liveBlobs()).contains(names.given.get(0));
        };
    TableUploader.Upload upload = upload(manifest, table);
    assertThat(uploader.liveBlobs())
        .containsExactlyInAnyOrderElementsOf(upload.files().stream().map(TableFile::blob).toList());
  }

  /** What never changes is known to the next attempt, which stores the rest anew. */
  @Test
  void giveUp_keepsOnlyImmutableFiles() throws Exception {
    TableSnapshot.File manifest = file("MANIFEST-1", false);
    TableSnapshot.File table = file("1.sst", true);
    TableUploader.Upload first = upload(manifest, table);
    uploader.giveUp(first.files());
    assertThat(uploader.liveBlobs()).containsExactly(first.files().get(1).blob());
    TableUploader.Upload second = upload(manifest, table);
    assertThat(second.newFiles()).isEqualTo(1);
    assertThat(second.files().get(1)).isEqualTo(first.files().get(1));
  }

  /** Nobody waits for gigabytes: an upload without a pace ends in the midst of a file, too. */
  @Test
  void stop_whileALargeFileIsStored_endsItAtTheNextPiece() throws Exception {
    Path path = Files.write(directory.resolve("heap.cells"), new byte[8 << 20]);
    TableSnapshot snapshot =
        new TableSnapshot(
            directory,
            List.of(new TableSnapshot.File("heap.cells", path, Files.size(path), false)));
    try (BlobStore files = new LocalDirectoryBlobStore(directory.resolve("blobs"), "test")) {
      TableUploader stopped = new TableUploader(files, names, TableUploader.Keeper.NONE, List.of());
      AtomicInteger pieces = new AtomicInteger();
      Pace unpaced =
          bytes -> {
            if (pieces.incrementAndGet() == 3) {
              stopped.stop();
            }
          };
      TableUploader copying = stopped.elsewhere(files);
      assertThatThrownBy(() -> copying.upload(snapshot, newBytes -> unpaced))
          .isInstanceOfSatisfying(
              StateBackendException.class,
              e -> assertThat(e.kind()).isEqualTo(StateBackendException.Kind.CLOSED));
      assertThat(pieces).hasValue(3);
      assertThat(files.list("data/")).isEmpty();
      assertThat(copying.liveBlobs()).isEmpty();
    }
  }
}
