package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.spi.Metrics;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.AbstractNativeReference;

/** An error half-way through the making of something native leaves nothing of it. */
class HalfBuiltTest {

  @TempDir private Path directory;

  /** Runs out of memory with the nth native object; the ones before must be closed. */
  private static final class FailingNatives extends Natives {
    private final AtomicInteger live;
    private int made;
    private int left;

    FailingNatives(AtomicInteger live, int failsAt) {
      super(live);
      this.live = live;
      this.left = failsAt;
    }

    @Override
    <T extends AbstractNativeReference> T add(T reference) {
      if (--left == 0) {
        reference.close();
        throw new OutOfMemoryError("test");
      }
      made++;
      return super.add(reference);
    }

    private void checkAllClosed(int made) {
      assertThat(live).hasValue(0);
      assertThat(this.made).isEqualTo(made);
    }
  }

  private interface Making {
    ThrowingCallable with(Natives natives);
  }

  private static void check(int objects, Making making) {
    for (int failsAt = 1; failsAt <= objects; failsAt++) {
      FailingNatives natives = new FailingNatives(new AtomicInteger(), failsAt);
      assertThatThrownBy(making.with(natives))
          .as("object %s of %s", failsAt, objects)
          .isInstanceOf(OutOfMemoryError.class);
      natives.checkAllClosed(failsAt - 1);
    }
  }

  @Test
  void scan_loader_andDatabase() throws Exception {
    try (TestTables tables = new TestTables(directory, Map.of(), Metrics.NONE)) {
      Natives natives = tables.tables.natives().sibling();
      Database database =
          Database.open(
              Files.createDirectories(tables.fresh()),
              tables.tables.settings(),
              natives,
              DbSettings.Compaction.AUTOMATIC);
      check(
          3,
          failing ->
              () ->
                  new RocksDbScan(
                      database, failing, KeyBounds.FIRST, KeyBounds.LAST, closed -> {}));
      Path work = tables.fresh();
      check(3, failing -> () -> new SortedFileLoader(database, failing, work, "x", 1 << 20));
      // Two of its options, at least.
      check(
          2,
          failing ->
              () ->
                  Database.open(
                      Files.createDirectories(tables.fresh()),
                      tables.tables.settings(),
                      failing,
                      DbSettings.Compaction.AUTOMATIC));
      natives.close();
    }
  }
}
