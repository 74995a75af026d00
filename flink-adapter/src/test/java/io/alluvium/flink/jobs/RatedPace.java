package io.alluvium.flink.jobs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * So many events per second and reader, until a file appears; then as many as go. Confined to the
 * reader's thread.
 */
final class RatedPace implements Pace {

  private static final long serialVersionUID = 1L;
  private static final CompletableFuture<Void> NOW = CompletableFuture.completedFuture(null);

  private final double perSecond;
  private final String fullSpeed;
  private transient long startNanos;
  private transient long allowed;
  private transient boolean unlimited;

  RatedPace(double perSecond, String fullSpeed) {
    this.perSecond = perSecond;
    this.fullSpeed = fullSpeed;
  }

  @Override
  public CompletableFuture<Void> next() {
    if (unlimited) {
      return NOW;
    }
    long now = System.nanoTime();
    if (allowed == 0) {
      startNanos = now;
    }
    allowed++;
    long aheadNanos = (long) (allowed * 1e9 / perSecond) - (now - startNanos);
    if (aheadNanos <= 0) {
      return NOW;
    }
    unlimited = Files.exists(Path.of(fullSpeed));
    return CompletableFuture.runAsync(
        () -> {}, CompletableFuture.delayedExecutor(aheadNanos, TimeUnit.NANOSECONDS));
  }
}
