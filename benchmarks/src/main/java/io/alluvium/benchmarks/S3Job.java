package io.alluvium.benchmarks;

import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;

/**
 * A backend that takes sequential checkpoints of a fixed number of changes each. Confined to one
 * thread.
 */
final class S3Job implements AutoCloseable {

  private static final int GROUPS = 128;
  private static final int KEYS = 10_000;
  private static final int VALUE_BYTES = 100;

  /** Nanoseconds until the changelog suffix was durable, for each measured checkpoint. */
  final Histogram tail = new Histogram(3);

  /** Nanoseconds of the commit after that. */
  final Histogram commit = new Histogram(3);

  /** Nanoseconds until the checkpoint was committed. */
  final Histogram whole = new Histogram(3);

  private final SplittableRandom random = new SplittableRandom(1);
  private final Counting metrics = new Counting();
  private final StateBackend backend;
  private final KeyedBackend<Integer> keyed;
  private final ValueState<byte[]> state;
  private final int changes;
  private long id;
  private long logBytes;
  private long manifestBytes;

  /** Takes over a new job in an empty directory. */
  S3Job(Map<String, String> settings, int changes) {
    this.changes = changes;
    this.backend = StateBackend.open(settings, metrics.components());
    backend.catalog().takeOver("benchmark");
    this.keyed = backend.keyed(Serializers.int32(), GROUPS, new KeyGroupRange(0, GROUPS));
    this.state = keyed.state(StateDescriptor.value("value", Serializers.bytes()));
  }

  /** Applies the changes and takes one checkpoint. */
  void checkpoint() {
    for (int i = 0; i < changes; i++) {
      keyed.setCurrentKey(random.nextInt(KEYS));
      byte[] value = new byte[VALUE_BYTES];
      value[0] = (byte) i;
      state.update(value);
    }
    long before = metrics.count("changelog.upload.bytes");
    long start = System.nanoTime();
    CheckpointHandle handle = keyed.checkpoint(++id).join();
    long durable = System.nanoTime();
    CheckpointCatalog.Commit stored = backend.catalog().commit(id, List.of(handle), new byte[0]);
    long committed = System.nanoTime();
    keyed.confirm(id);
    logBytes = metrics.count("changelog.upload.bytes") - before;
    manifestBytes = stored.manifestBytes();
    tail.recordValue(durable - start);
    commit.recordValue(committed - durable);
    whole.recordValue(committed - start);
  }

  /** Discards the measurements so far, after a warm-up. */
  void warm() {
    tail.reset();
    commit.reset();
    whole.reset();
  }

  /** Size of the newest segment of the log. */
  int logBytes() {
    return Math.toIntExact(logBytes);
  }

  /** Size of the newest manifest. */
  int manifestBytes() {
    return Math.toIntExact(manifestBytes);
  }

  long count(String metric) {
    return metrics.count(metric);
  }

  @Override
  public void close() {
    backend.close();
  }
}
