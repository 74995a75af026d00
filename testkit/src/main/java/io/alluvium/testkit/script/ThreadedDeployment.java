package io.alluvium.testkit.script;

import io.alluvium.Components;
import io.alluvium.StateBackend;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Metrics;
import io.alluvium.testkit.ThreadExecution;
import io.alluvium.testkit.blob.FaultPlan;
import io.alluvium.testkit.blob.FaultyBlobStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Runs the job on real threads over a real store. The threads of a killed process may run on for a
 * while, but their calls do not reach the store. Confined to the script's thread.
 */
public final class ThreadedDeployment implements Deployment {

  private static final Duration INTERVAL = Duration.ofMillis(20);

  /** Upper bound of pauses and delays, because real time is expensive. */
  private static final Duration MAX_SLEEP = Duration.ofMillis(100);

  private final BlobStore blobs;
  private final Path directory;
  private final Random random;
  private final FaultPlan faults = new FaultPlan();
  private final ThreadExecution execution = new ThreadExecution();
  private @Nullable StateBackend current;
  private @Nullable FaultyBlobStore store;
  private int started;

  /**
   * @param blobs the store that survives every process; closed by the caller
   * @param directory for local files
   */
  public ThreadedDeployment(BlobStore blobs, Path directory, long seed) {
    this.blobs = blobs;
    this.directory = directory;
    this.random = new Random(seed);
  }

  @Override
  public StateBackend start(Map<String, String> settings) {
    FaultyBlobStore faulty = new FaultyBlobStore(blobs, this::sleep, faults);
    store = faulty;
    Map<String, String> all = new HashMap<>(settings);
    all.putIfAbsent(
        "state.backend.changelog.periodic-materialize.interval", INTERVAL.toMillis() + "ms");
    all.put("state.backend.rocksdb.localdir", directory.resolve("P" + ++started).toString());
    StateBackend backend =
        StateBackend.open(
            all,
            new Components(
                Optional.of(faulty),
                Optional.empty(),
                new Random(random.nextLong()),
                Metrics.NONE));
    current = backend;
    return backend;
  }

  @Override
  public void kill() {
    if (store != null) {
      store.stop();
    }
    if (current != null) {
      current.close();
    }
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    return execution.await(future);
  }

  @Override
  public void sleep(Duration duration) {
    LockSupport.parkNanos(Math.min(duration.toNanos(), MAX_SLEEP.toNanos()));
  }

  @Override
  public Duration materializationPause() {
    return INTERVAL.multipliedBy(3);
  }

  @Override
  public void pause(String step) {}

  @Override
  public void fault(String rule) {
    faults.rule(rule);
  }

  @Override
  public void heal() {
    faults.clear();
  }

  @Override
  public List<String> blobs(String prefix) {
    return blobs.list(prefix).stream().map(BlobInfo::name).toList();
  }

  @Override
  public void lose(String blob) {
    blobs.delete(List.of(blob));
  }

  @Override
  public void flip(String blob) {
    Damage.flip(blobs, blob);
  }

  @Override
  public void close() {
    kill();
    execution.close();
  }
}
