package io.alluvium.internal.blob;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlobInfo;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Behaviour of a local directory beyond the conformance suite in the testkit. */
class LocalDirectoryBlobStoreTest {

  @TempDir Path parent;

  private Path root() {
    return parent.resolve("deep/er/store");
  }

  private LocalDirectoryBlobStore open() {
    return new LocalDirectoryBlobStore(root(), root().toUri().toString());
  }

  @Test
  void put_rootIsADanglingLink_isInvalid() throws IOException {
    Path link = Files.createSymbolicLink(parent.resolve("link"), parent.resolve("away"));
    try (LocalDirectoryBlobStore dangling = new LocalDirectoryBlobStore(link, "file:link")) {
      assertThatThrownBy(() -> dangling.put("top", List.of(ByteBuffer.wrap(new byte[3]))))
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID));
    }
  }

  @Test
  void list_missingDirectory_isEmptyAndCreatesNothing() {
    try (LocalDirectoryBlobStore store = open()) {
      assertThat(store.list("")).isEmpty();
      assertThat(store.size("data/a")).isEmpty();
      store.deleteLeftovers(Duration.ZERO);
    }
    assertThat(parent).isEmptyDirectory();
  }

  @Test
  void put_succeeds_leavesOnlyTheBlob() throws IOException {
    try (LocalDirectoryBlobStore store = open()) {
      put(store, "data/x/a");
      assertThat(store.putIfAbsent("slots/1", new byte[3])).isTrue();
      assertThat(store.putIfAbsent("slots/1", new byte[4])).isFalse();
    }
    try (Stream<Path> files = Files.walk(root())) {
      assertThat(files.filter(Files::isRegularFile).map(file -> root().relativize(file).toString()))
          .containsExactlyInAnyOrder("data/x/a", "slots/1");
    }
  }

  @Test
  void putFile_paced_awaitsThePaceBeforeEachPiece() throws IOException {
    Path file = Files.write(parent.resolve("big"), new byte[(512 << 10) + 5]);
    List<Long> asked = new ArrayList<>();
    try (LocalDirectoryBlobStore store = open()) {
      store.putFile("data/a", file, asked::add);
      assertThat(asked).containsExactly(256L << 10, 256L << 10, 5L);
      assertThat(store.size("data/a")).hasValue((512 << 10) + 5);
      assertFails(
          Kind.CLOSED,
          () ->
              store.putFile(
                  "data/b",
                  file,
                  bytes -> {
                    throw StateBackendException.closed("enough");
                  }),
          "enough");
      assertThat(store.list("data/")).extracting(BlobInfo::name).containsExactly("data/a");
    }
  }

  @Test
  void open_rootIsFile_isInvalidWithRemedy() throws IOException {
    Files.createDirectories(parent.resolve("deep/er"));
    Files.writeString(root(), "a file");
    assertFails(Kind.INVALID, this::open, root().toString(), "is a file", "name a directory");
  }

  @Test
  void open_parentOfRootIsFile_isInvalid() throws IOException {
    Files.writeString(parent.resolve("deep"), "a file");
    assertFails(Kind.INVALID, this::open, parent.resolve("deep").toString(), "is a file");
  }

  @Test
  void anyCall_rootBecameFile_isInvalid() throws IOException {
    try (LocalDirectoryBlobStore store = open()) {
      Files.createDirectories(parent.resolve("deep/er"));
      Files.writeString(root(), "a file");
      assertFails(Kind.INVALID, () -> put(store, "data/a"), "is a file");
      assertFails(Kind.INVALID, () -> store.list("data/"), "is a file");
      assertFails(Kind.INVALID, () -> store.size("data/a"), "is a file");
      assertFails(Kind.INVALID, () -> store.read("data/a", 0, 1), "is a file");
    }
  }

  @Test
  void failure_ofFullDisk_isUnavailableWithRemedy() {
    StateBackendException failure =
        new LocalDirectories(root())
            .failure("cannot store blob 'data/a'", new IOException("No space left on device"));
    assertThat(failure.kind()).isEqualTo(Kind.UNAVAILABLE);
    assertThat(failure).hasMessageContaining("data/a").hasMessageContaining("free space");
  }

  @Test
  void failure_ofDeniedPermission_isInvalidWithRemedy() {
    StateBackendException failure =
        new LocalDirectories(root())
            .failure("cannot store blob 'data/a'", new java.nio.file.AccessDeniedException("/x/y"));
    assertThat(failure.kind()).isEqualTo(Kind.INVALID);
    assertThat(failure).hasMessageContaining("/x/y").hasMessageContaining("writable");
  }

  @Test
  void put_directoryDeletedMeanwhile_createsItAgain() throws IOException {
    try (LocalDirectoryBlobStore store = open()) {
      put(store, "data/x/a");
      Files.delete(root().resolve("data/x/a"));
      Files.delete(root().resolve("data/x"));
      Files.delete(root().resolve("data"));
      put(store, "data/x/b");
      assertThat(store.list("")).extracting(BlobInfo::name).containsExactly("data/x/b");
    }
  }

  @Test
  void delete_lastBlob_removesEmptyDirectories() {
    try (LocalDirectoryBlobStore store = open()) {
      put(store, "data/x/a");
      put(store, "data/x/b");
      put(store, "data/y/c");
      store.delete(List.of("data/x/a", "data/y/c"));
      assertThat(root().resolve("data")).isDirectoryNotContaining(dir -> dir.endsWith("y"));
      store.delete(List.of("data/x/b"));
      assertThat(root().resolve("data")).doesNotExist();
    }
  }

  @Test
  void putAndDelete_concurrently_loseNoBlob() {
    try (LocalDirectoryBlobStore store = open()) {
      List<CompletableFuture<Void>> writers = new ArrayList<>();
      for (int w = 0; w < 3; w++) {
        int writer = w;
        writers.add(
            CompletableFuture.runAsync(
                () -> {
                  for (int i = 0; i < 60; i++) {
                    String name = "data/x/" + writer + "-" + i;
                    put(store, name);
                    assertThat(store.size(name)).hasValue(2);
                    store.delete(List.of(name));
                    store.deleteLeftovers(Duration.ZERO);
                  }
                }));
      }
      writers.forEach(CompletableFuture::join);
      assertThat(store.list("")).isEmpty();
    }
  }

  @Test
  void list_temporaryAndForeignFiles_areIgnored() throws IOException {
    try (LocalDirectoryBlobStore store = open()) {
      put(store, "data/a");
      leftover(Instant.now());
      Files.writeString(root().resolve("a file of the user"), "notes");
      assertThat(store.list("")).extracting(BlobInfo::name).containsExactly("data/a");
    }
  }

  @Test
  void deleteLeftovers_youngFilesAndBlobs_areKept() throws IOException {
    try (LocalDirectoryBlobStore store = open()) {
      put(store, "data/a");
      Path old = leftover(Instant.now().minus(Duration.ofHours(2)));
      Path young = leftover(Instant.now());
      store.deleteLeftovers(Duration.ofHours(1));
      assertThat(old).doesNotExist();
      assertThat(young).exists();
      store.deleteLeftovers(Duration.ZERO);
      assertThat(root().resolve(".tmp")).doesNotExist();
      assertThat(store.list("")).hasSize(1);
    }
  }

  /** Two stores represent two containers with equal process ids. */
  @Test
  void temporaryFiles_processesWithEqualIds_haveDifferentNames() throws IOException {
    TemporaryFiles first = temporaryFiles();
    TemporaryFiles second = temporaryFiles();
    Path name;
    try (TemporaryFiles.File one = first.create();
        TemporaryFiles.File other = second.create()) {
      name = one.path();
      assertThat(other.path()).isNotEqualTo(name);
    }
    try (TemporaryFiles.File later = second.create()) {
      assertThat(later.path()).isNotEqualTo(name);
    }
  }

  private TemporaryFiles temporaryFiles() {
    return new TemporaryFiles(root().resolve(".tmp"), new LocalDirectories(root()));
  }

  /** Only the kernel creates files there; even root cannot. */
  @ParameterizedTest
  @ValueSource(
      strings = {"/proc/alluvium-test", "/proc/alluvium-test/deeper", "/sys/alluvium-test"})
  void put_directoryCannotBeCreated_isInvalid(String directory) {
    assumeThat(Path.of("/proc/self")).exists();
    try (LocalDirectoryBlobStore store =
        new LocalDirectoryBlobStore(Path.of(directory), directory)) {
      assertFails(
          Kind.INVALID, () -> put(store, "data/a"), "cannot store blob 'data/a'", directory);
      assertFails(
          Kind.INVALID, () -> store.putIfAbsent("slots/1", new byte[1]), directory, "choose");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          Read-only file system             | INVALID
          Operation not permitted           | INVALID
          Too many levels of symbolic links | INVALID
          File name too long                | INVALID
          Input/output error                | UNAVAILABLE
          Stale file handle                 | UNAVAILABLE
          Too many open files               | UNAVAILABLE
          """)
  void failure_permanentReason_isInvalid(String reason, Kind kind) {
    LocalDirectories directories = new LocalDirectories(root());
    IOException failed = new FileSystemException(root() + "/data/a", null, reason);
    assertThat(directories.failure("cannot store blob 'data/a'", failed))
        .satisfies(e -> assertThat(e.kind()).isEqualTo(kind))
        .hasMessageContainingAll("cannot store blob 'data/a' in '" + root() + "'", reason);
    assertThat(directories.unavailable("it is unknown", failed).kind()).isEqualTo(Kind.UNAVAILABLE);
  }

  @Test
  void anyCall_nameBelowTemporary_isInvalid() {
    try (LocalDirectoryBlobStore store = open()) {
      assertFails(Kind.INVALID, () -> put(store, ".tmp/a"), ".tmp/a");
      assertFails(Kind.INVALID, () -> store.list("../"), "..");
      assertFails(Kind.INVALID, () -> store.delete(List.of("../../a")), "../../a");
      assertFails(Kind.INVALID, () -> store.read("data/../../a", 0, 1), "data/../../a");
    }
  }

  @Test
  void size_parentIsABlob_isEmpty() {
    try (LocalDirectoryBlobStore store = open()) {
      put(store, "data/a");
      assertThat(store.size("data/a/b")).isEmpty();
      assertFails(Kind.CORRUPT, () -> store.read("data/a/b", 0, 1), "data/a/b");
      store.delete(List.of("data/a/b", "data"));
      assertThat(store.size("data/a")).hasValue(2);
    }
  }

  private Path leftover(Instant lastModified) throws IOException {
    Files.createDirectories(root().resolve(".tmp"));
    Path file = Files.createTempFile(root().resolve(".tmp"), "left", "over");
    return Files.setLastModifiedTime(file, FileTime.from(lastModified));
  }

  private static void put(LocalDirectoryBlobStore store, String name) {
    store.put(name, List.of(ByteBuffer.wrap("ab".getBytes(UTF_8))));
  }

  private static void assertFails(Kind kind, ThrowingCallable call, String... parts) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(kind))
        .message()
        .contains(parts);
  }
}
