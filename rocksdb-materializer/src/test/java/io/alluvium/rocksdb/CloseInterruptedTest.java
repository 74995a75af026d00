package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.spi.SortedChanges;
import io.alluvium.spi.Table;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * An interrupted thread closes a table. A JVM that ends while another thread still frees a database
 * aborts, and the directory of an open database cannot be deleted.
 */
final class CloseInterruptedTest {

  @TempDir private Path directory;

  @Test
  @Timeout(120)
  void close_interruptedBefore_waitsForThoseInsideAndStaysInterrupted() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch mayLeave = new CountDownLatch(1);
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      CompletableFuture<Void> user =
          CompletableFuture.runAsync(() -> table.apply(noneAfter(inside, mayLeave)));
      inside.await();
      CompletableFuture<Boolean> closer =
          CompletableFuture.supplyAsync(
              () -> {
                Thread.currentThread().interrupt();
                table.close();
                return Thread.interrupted();
              });
      try {
        assertThatThrownBy(() -> closer.get(100, TimeUnit.MILLISECONDS))
            .isInstanceOf(TimeoutException.class);
      } finally {
        mayLeave.countDown();
      }

      assertThat(closer.get()).as("still interrupted").isTrue();
      Throwable unused = user.handle((done, failure) -> failure).get();
    }
  }

  /** No changes, once the reader may see that. */
  private static SortedChanges noneAfter(CountDownLatch inside, CountDownLatch mayLeave) {
    return (SortedChanges)
        Proxy.newProxyInstance(
            SortedChanges.class.getClassLoader(),
            new Class<?>[] {SortedChanges.class},
            (proxy, method, arguments) -> {
              inside.countDown();
              mayLeave.await();
              return switch (method.getName()) {
                case "rangeDeletes" -> List.of();
                case "next" -> false;
                case "sizeBytes" -> 0L;
                default -> 0;
              };
            });
  }
}
