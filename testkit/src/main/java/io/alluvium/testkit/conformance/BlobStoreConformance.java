package io.alluvium.testkit.conformance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Conformance suite of {@link BlobStore}. The test of a provider extends it and opens a store. */
public abstract class BlobStoreConformance {

  private static final int BIG = 3 * 1024 * 1024 + 17;

  /** Directory for local files of tests; a store may also use it. */
  @TempDir protected Path directory;

  private BlobStore store;

  /** Opens an empty store. */
  protected abstract BlobStore open() throws IOException;

  @BeforeEach
  final void openStore() throws IOException {
    store = open();
  }

  @AfterEach
  final void closeStore() {
    store.close();
  }

  @Test
  void put_severalBuffers_storesOneBlobAndKeepsPositions() {
    ByteBuffer heap = ByteBuffer.wrap("xxhello ".getBytes(UTF_8)).position(2);
    ByteBuffer direct = ByteBuffer.allocateDirect(16).put("worldyy".getBytes(UTF_8)).flip();
    direct.limit(5);
    ByteBuffer readOnly = ByteBuffer.wrap("!".getBytes(UTF_8)).asReadOnlyBuffer();

    store.put("data/a", List.of(heap, ByteBuffer.allocate(0), direct, readOnly));

    assertThat(store.read("data/a", 0, 12)).asString(UTF_8).isEqualTo("hello world!");
    assertThat(heap.position()).isEqualTo(2);
    assertThat(direct.remaining()).isEqualTo(5);
    assertThat(readOnly.remaining()).isEqualTo(1);
  }

  @Test
  void put_sameBytesAgain_succeeds() {
    put("data/a", "same");
    put("data/a", "same");
    assertThat(text("data/a")).isEqualTo("same");
  }

  @Test
  void put_noBytes_storesAnEmptyBlob() {
    store.put("data/empty", List.of());
    assertThat(store.size("data/empty")).hasValue(0);
    assertThat(store.list("data/")).extracting(BlobInfo::name).containsExactly("data/empty");
    assertThat(store.read("data/empty", 0, 0)).isEmpty();
  }

  @Test
  void put_bigBlob_isReadableWholeAndInRanges() throws IOException {
    byte[] bytes = new byte[BIG];
    new Random(1).nextBytes(bytes);
    store.put("data/big", List.of(ByteBuffer.wrap(bytes)));

    assertThat(store.size("data/big")).hasValue(BIG);
    assertThat(store.read("data/big", 0, BIG)).isEqualTo(bytes);
    assertThat(store.read("data/big", 1_000_001, 70_000))
        .isEqualTo(Arrays.copyOfRange(bytes, 1_000_001, 1_070_001));
    try (InputStream in = store.open("data/big", BIG - 5, 5)) {
      assertThat(in.readAllBytes()).isEqualTo(Arrays.copyOfRange(bytes, BIG - 5, BIG));
    }
  }

  @Test
  void putFile_regularFile_storesItsContentAndKeepsIt() throws IOException {
    Path file = Files.writeString(directory.resolve("local.sst"), "table file");
    store.putFile("data/file.table", file);
    Files.writeString(file, "changed");
    assertThat(text("data/file.table")).isEqualTo("table file");
    assertThat(file).hasContent("changed");
  }

  @Test
  void putFile_missingFile_throwsAndStoresNothing() {
    assertThatThrownBy(() -> store.putFile("data/file", directory.resolve("none")))
        .isInstanceOf(StateBackendException.class);
    assertThat(store.size("data/file")).isEmpty();
  }

  @Test
  void putIfAbsent_freeName_storesTheBytes() {
    assertThat(store.putIfAbsent("slots/1", "first".getBytes(UTF_8))).isTrue();
    assertThat(text("slots/1")).isEqualTo("first");
  }

  @Test
  void putIfAbsent_takenName_keepsTheBlob() {
    assertThat(store.putIfAbsent("slots/1", "first".getBytes(UTF_8))).isTrue();
    assertThat(store.putIfAbsent("slots/1", "second".getBytes(UTF_8))).isFalse();
    assertThat(store.putIfAbsent("slots/1", "first".getBytes(UTF_8))).isFalse();
    assertThat(text("slots/1")).isEqualTo("first");
  }

  @Test
  void putIfAbsent_nameStoredByPut_isTaken() {
    put("slots/1", "put");
    assertThat(store.putIfAbsent("slots/1", "second".getBytes(UTF_8))).isFalse();
    assertThat(text("slots/1")).isEqualTo("put");
  }

  @Test
  void putIfAbsent_afterDelete_succeeds() {
    store.putIfAbsent("slots/1", "first".getBytes(UTF_8));
    store.delete(List.of("slots/1"));
    assertThat(store.putIfAbsent("slots/1", "second".getBytes(UTF_8))).isTrue();
    assertThat(text("slots/1")).isEqualTo("second");
  }

  @Test
  void putIfAbsent_concurrentCalls_oneSucceeds() {
    int racers = 8;
    for (int round = 0; round < 10; round++) {
      String name = "slots/" + round;
      List<Boolean> won =
          together(racers, racer -> store.putIfAbsent(name, ("racer " + racer).getBytes(UTF_8)));
      assertThat(won).filteredOn(win -> win).hasSize(1);
      assertThat(text(name)).isEqualTo("racer " + won.indexOf(true));
    }
  }

  @Test
  void size_missingBlob_isEmpty() {
    put("data/ab", "x");
    assertThat(store.size("data/a")).isEmpty();
    assertThat(store.size("data")).isEmpty();
    assertThat(store.size("other/deep/name")).isEmpty();
  }

  @Test
  void open_rangePastTheEnd_endsEarlyOrFails() throws IOException {
    put("data/a", "12345");
    try (InputStream in = store.open("data/a", 3, 10)) {
      assertThat(in.readAllBytes()).asString(UTF_8).isEqualTo("45");
    } catch (IOException | StateBackendException e) {
      assertThat(e).hasMessageContaining("data/a");
    }
  }

  @Test
  void open_readByteByByte_endsAtTheRange() throws IOException {
    put("data/a", "123456");
    try (InputStream in = store.open("data/a", 1, 3)) {
      assertThat(List.of(in.read(), in.read(), in.read())).containsExactly(50, 51, 52);
      assertThat(in.read()).isEqualTo(-1);
    }
  }

  @Test
  void read_missingBlob_isCorruptAndNamesIt() {
    assertKind(Kind.CORRUPT, () -> store.read("data/none", 0, 1), "data/none");
  }

  @Test
  void read_pastTheEnd_isCorruptAndNamesIt() {
    put("data/a", "12345");
    assertKind(Kind.CORRUPT, () -> store.read("data/a", 3, 10), "data/a");
    assertKind(Kind.CORRUPT, () -> store.read("data/a", 50, 10), "data/a");
  }

  @Test
  void list_manyBlobs_isAscendingByName() {
    List<String> names =
        List.of("a-b", "a.b", "a/b", "a/b-c", "a/b.c", "a/b0/c", "a0", "aB", "a_b", "ab", "b/c/d");
    names.stream().sorted((x, y) -> y.compareTo(x)).forEach(name -> put(name, name));
    assertThat(store.list("")).extracting(BlobInfo::name).containsExactlyElementsOf(names);
  }

  @Test
  void list_prefix_matchesTextNotFolders() {
    Stream.of("data/a/1", "data/a/10", "data/ab/2", "data/b", "dat", "data", "slots/1")
        .filter(name -> !name.equals("data"))
        .forEach(name -> put(name, name));
    assertThat(names("data/a")).containsExactly("data/a/1", "data/a/10", "data/ab/2");
    assertThat(names("data/a/")).containsExactly("data/a/1", "data/a/10");
    assertThat(names("data/a/1")).containsExactly("data/a/1", "data/a/10");
    assertThat(names("dat")).containsExactly("dat", "data/a/1", "data/a/10", "data/ab/2", "data/b");
    assertThat(names("nothing/here")).isEmpty();
    assertThat(names("z")).isEmpty();
  }

  @Test
  void list_blobs_haveSizes() {
    put("data/a", "12345");
    store.put("data/b", List.of());
    assertThat(store.list("data/")).extracting(BlobInfo::sizeBytes).containsExactly(5L, 0L);
    assertThat(store.list("data/")).extracting(BlobInfo::lastModified).doesNotContainNull();
  }

  @Test
  void list_whileBlobsAreWritten_showsOnlyWholeOnes() {
    byte[] bytes = new byte[256 * 1024];
    CompletableFuture<Void> writer =
        CompletableFuture.runAsync(
            () -> {
              for (int i = 0; i < 40; i++) {
                store.put("data/" + i, List.of(ByteBuffer.wrap(bytes)));
                store.putIfAbsent("slots/" + i, bytes);
              }
            });
    while (!writer.isDone()) {
      assertThat(store.list(""))
          .allSatisfy(
              blob -> {
                assertThat(blob.sizeBytes()).isEqualTo(bytes.length);
                assertThat(blob.name()).matches("(data|slots)/\\d+");
                assertThat(store.size(blob.name())).hasValue(bytes.length);
              });
    }
    writer.join();
    assertThat(store.list("")).hasSize(80);
  }

  @Test
  void delete_missingBlobs_areIgnored() {
    put("data/a", "1");
    put("data/b", "2");
    put("data/c", "3");
    store.delete(List.of("data/c", "data/none", "other/none", "data/a"));
    assertThat(names("")).containsExactly("data/b");
    assertThat(store.size("data/a")).isEmpty();
    store.delete(List.of());
    assertKind(Kind.CORRUPT, () -> store.read("data/a", 0, 1), "data/a");
  }

  @Test
  void delete_manyBlobs_removesAll() {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 1_200; i++) {
      names.add("data/" + i);
      store.putIfAbsent("data/" + i, new byte[0]);
    }
    store.delete(names);
    assertThat(store.list("")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "/a", "../a", "data/../../a", "data//a", "data/a/", "a b", "ü"})
  void put_badName_isInvalid(String name) {
    assertKind(Kind.INVALID, () -> put(name, "x"), "");
    assertKind(Kind.INVALID, () -> store.putIfAbsent(name, new byte[1]), "");
  }

  @Test
  void uri_openStore_isNotEmpty() {
    assertThat(store.uri()).isNotEmpty();
  }

  @Test
  void anyCall_afterClose_throws() throws IOException {
    put("data/a", "1");
    Path file = Files.writeString(directory.resolve("local.sst"), "table file");
    store.close();
    store.close();
    assertKind(Kind.CLOSED, () -> put("data/b", "2"), "");
    assertKind(Kind.CLOSED, () -> store.putFile("data/b", file), "");
    assertKind(Kind.CLOSED, () -> store.putIfAbsent("data/b", new byte[1]), "");
    assertKind(Kind.CLOSED, () -> store.size("data/a"), "");
    assertKind(Kind.CLOSED, () -> store.read("data/a", 0, 1), "");
    assertKind(Kind.CLOSED, () -> store.list(""), "");
    assertKind(Kind.CLOSED, () -> store.delete(List.of("data/a")), "");
  }

  private void put(String name, String text) {
    store.put(name, List.of(ByteBuffer.wrap(text.getBytes(UTF_8))));
  }

  private String text(String name) {
    int size = (int) store.size(name).orElseThrow();
    return new String(store.read(name, 0, size), UTF_8);
  }

  private List<String> names(String prefix) {
    return store.list(prefix).stream().map(BlobInfo::name).toList();
  }

  private static void assertKind(Kind kind, ThrowingCallable call, String named) {
    Expect.failure(kind, call).hasMessageContaining(named);
  }

  private static <T> List<T> together(int count, java.util.function.IntFunction<T> action) {
    ExecutorService threads = Executors.newFixedThreadPool(count);
    CountDownLatch start = new CountDownLatch(count);
    try {
      List<CompletableFuture<T>> results = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        int number = i;
        results.add(
            CompletableFuture.supplyAsync(
                () -> {
                  start.countDown();
                  try {
                    start.await();
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                  return action.apply(number);
                },
                threads));
      }
      return results.stream().map(CompletableFuture::join).toList();
    } finally {
      threads.shutdown();
    }
  }
}
