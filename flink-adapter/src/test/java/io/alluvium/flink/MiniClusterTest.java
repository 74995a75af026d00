package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A whole job in Flink, with failures in the middle, gives exact results. */
final class MiniClusterTest {

  private static final int RECORDS = 60_000;
  private static final int KEYS = 300;
  private static final int FAILURES = 3;

  private static final int SUBTASKS = 2;

  /** Where the last fifth of a source's records begins. */
  private static final int LATE = RECORDS / SUBTASKS * 4 / 5;

  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder()
              .setNumberTaskManagers(1)
              .setNumberSlotsPerTaskManager(SUBTASKS)
              .build());

  @TempDir private Path directory;

  private static final Map<Long, String> RESULTS = new ConcurrentHashMap<>();
  private static final AtomicInteger FAILED = new AtomicInteger();
  private static final AtomicLong CHECKPOINTS = new AtomicLong();

  @BeforeEach
  void clear() {
    RESULTS.clear();
    FAILED.set(0);
    CHECKPOINTS.set(0);
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void job_failingAfterCheckpoints_isExact(Backends kind) throws Exception {
    Configuration configuration = kind.configuration();
    configuration.set(
        StateBackendOptions.STATE_BACKEND, AlluviumStateBackendFactory.class.getName());
    configuration.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, directory.toUri().toString());
    configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(40));
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofMillis(150));
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, FAILURES + 1);
    configuration.set(
        RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ofMillis(10));
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    env.setParallelism(SUBTASKS);
    env.fromSequence(0, RECORDS - 1)
        .map(new Failing())
        .keyBy(number -> number % KEYS)
        .process(new Counting())
        .map(new Collecting())
        .sinkTo(new DiscardingSink<>());
    env.execute();

    assertThat(FAILED).hasValue(FAILURES);
    assertThat(RESULTS).hasSize(KEYS);
    for (long key = 0; key < KEYS; key++) {
      long count = RECORDS / KEYS;
      long sum = 0;
      for (long number = key; number < RECORDS; number += KEYS) {
        sum += number;
      }
      assertThat(RESULTS.get(key))
          .as("key " + key)
          .isEqualTo(count + " " + sum + " " + count + " " + count);
    }
  }

  /** The interval is that of the program, which no configuration file names. */
  @Test
  void job_withFrequentCheckpoints_materializesSoonerThanItsInterval() throws Exception {
    Configuration configuration = Backends.ROCKSDB_CHANGELOG.configuration();
    configuration.set(
        StateBackendOptions.STATE_BACKEND, AlluviumStateBackendFactory.class.getName());
    configuration.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, directory.toUri().toString());
    configuration.set(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.ZERO);
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofDays(1));
    configuration.set(AlluviumOptions.MAX_PIECES, 1);
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    env.setParallelism(SUBTASKS);
    env.enableCheckpointing(20);
    env.fromSequence(0, Long.MAX_VALUE)
        .map(new Slow())
        .keyBy(number -> number % KEYS)
        .process(new Counting())
        .sinkTo(new DiscardingSink<>());
    JobClient job = env.executeAsync();
    try {
      Eventually.that(
          () ->
              StoredFiles.below(directory).stream()
                  .anyMatch(file -> file.toString().contains("taskowned")));
    } finally {
      job.cancel().get(1, TimeUnit.MINUTES);
      boolean ended =
          job.getJobExecutionResult().handle((result, cancelled) -> true).get(1, TimeUnit.MINUTES);
      assertThat(ended).isTrue();
    }
  }

  private static final class Slow implements MapFunction<Long, Long> {

    private static final long serialVersionUID = 1L;

    @Override
    public Long map(Long value) throws Exception {
      Thread.sleep(5);
      return value;
    }
  }

  /** Slows the source down, and fails some time after a checkpoint. */
  private static final class Failing extends RichMapFunction<Long, Long>
      implements CheckpointListener {

    private static final long serialVersionUID = 1L;
    private long seen;
    private long checkpoints;

    @Override
    public Long map(Long value) throws Exception {
      if (++seen % 50 == 0) {
        Thread.sleep(4);
      }
      int failed = FAILED.get();
      boolean shallFail =
          failed < FAILURES && getRuntimeContext().getTaskInfo().getIndexOfThisSubtask() == 0;
      if (shallFail && value % (RECORDS / SUBTASKS) >= LATE) {
        // Checkpoints are slow on this machine: without more time the records end too early.
        Thread.sleep(2);
      }
      if (shallFail && checkpoints >= 2 && seen % 97 == 0) {
        FAILED.incrementAndGet();
        throw new IllegalStateException("failure " + (failed + 1) + " on purpose");
      }
      return value;
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
      checkpoints++;
      CHECKPOINTS.incrementAndGet();
    }
  }

  /** Counts in a value, a list and a map; a timer at the end of time emits. */
  private static final class Counting extends KeyedProcessFunction<Long, Long, String> {

    private static final long serialVersionUID = 1L;
    private transient ValueState<Long> sum;
    private transient ListState<Long> all;
    private transient MapState<Long, Boolean> distinct;

    @Override
    public void open(OpenContext context) {
      sum = getRuntimeContext().getState(new ValueStateDescriptor<>("sum", Long.class));
      all = getRuntimeContext().getListState(new ListStateDescriptor<>("all", Long.class));
      distinct =
          getRuntimeContext()
              .getMapState(new MapStateDescriptor<>("distinct", Long.class, Boolean.class));
    }

    @Override
    public void processElement(Long number, Context context, Collector<String> out)
        throws Exception {
      Long before = sum.value();
      sum.update(before == null ? number : before + number);
      all.add(number);
      distinct.put(number, true);
      context.timerService().registerEventTimeTimer(Long.MAX_VALUE);
      context.timerService().registerEventTimeTimer(Long.MAX_VALUE - 1);
      context.timerService().deleteEventTimeTimer(Long.MAX_VALUE - 1);
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
        throws Exception {
      long count = 0;
      long listed = 0;
      for (Long number : all.get()) {
        count++;
        listed += number;
      }
      long entries = 0;
      for (Long unused : distinct.keys()) {
        entries++;
      }
      long found = timestamp == Long.MAX_VALUE ? count : -1;
      assertThat(listed).isEqualTo(sum.value());
      out.collect(
          context.getCurrentKey() + ":" + found + " " + sum.value() + " " + count + " " + entries);
    }
  }

  private static final class Collecting implements MapFunction<String, String> {

    private static final long serialVersionUID = 1L;

    @Override
    public String map(String line) {
      int colon = line.indexOf(':');
      RESULTS.put(Long.valueOf(line.substring(0, colon)), line.substring(colon + 1));
      return line;
    }
  }
}
