package io.alluvium.rocksdb;

import io.alluvium.spi.Execution;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the user once when the tables lie on a disk that is much too slow for them, as a small
 * network volume or one whose burst credits are used up. Thread-safe.
 */
final class DiskProbe {

  private static final Logger LOG = LoggerFactory.getLogger(DiskProbe.class);

  /** A local disk answers in less than 5 ms, a volume of some hundred operations a second in 20. */
  static final long SLOW_NANOS = 20_000_000;

  private static final int TRIALS = 3;
  private static final int BLOCK_BYTES = 4096;

  private final Execution execution;
  private final AtomicBoolean done = new AtomicBoolean();

  DiskProbe(Execution execution) {
    this.execution = execution;
  }

  /**
   * Looks at the disk under an existing directory, the first time that it is called.
   *
   * @return whether it found the disk too slow, and said so
   */
  boolean check(Path directory) {
    if (!done.compareAndSet(false, true)) {
      return false;
    }
    try {
      long nanos = measure(directory);
      if (nanos > SLOW_NANOS) {
        LOG.warn(
            "the disk under '{}' needs {} ms to store 4 KB: reads of state beyond the block cache"
                + " will be slow; point 'state.backend.rocksdb.localdir' to a local or provisioned"
                + " volume, or give the block cache more memory: '{}', or the managed memory of a"
                + " Flink TaskManager where that is used",
            directory,
            nanos / 1_000_000,
            RocksDbOptions.MEMORY.key());
      }
      return nanos > SLOW_NANOS;
    } catch (IOException e) {
      throw RocksDbFailures.of(e, "write a file", directory);
    }
  }

  /** The best of a few trials, so that a busy moment raises no alarm. */
  private long measure(Path directory) throws IOException {
    Path file = directory.resolve("disk-probe");
    long best = Long.MAX_VALUE;
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (int i = 0; i < TRIALS; i++) {
        long start = execution.nanoTime();
        channel.write(ByteBuffer.allocate(BLOCK_BYTES), (long) i * BLOCK_BYTES);
        channel.force(true);
        best = Math.min(best, execution.nanoTime() - start);
      }
    } finally {
      Files.deleteIfExists(file);
    }
    return best;
  }
}
