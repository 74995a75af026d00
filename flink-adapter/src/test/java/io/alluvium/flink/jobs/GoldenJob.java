package io.alluvium.flink.jobs;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.util.Collector;

/**
 * The job of the golden checkpoints: every kind of state, timers and a window. Its operators and
 * types must stay as they are, or the checkpoints do not fit any more. Stateless.
 */
final class GoldenJob {

  static final int KEYS = 11;
  static final Traffic TRAFFIC = new Traffic(7, 1, 1_000_000, KEYS);

  private static final int MAX_PARALLELISM = 16;
  private static final long SHOW = -1;
  private static final long FAR_MILLIS = 1_000_000_000_000L;
  private static final int TIMES = 3;
  private static final TypeInformation<Tuple2<Long, Long>> PAIR =
      Types.TUPLE(Types.LONG, Types.LONG);

  private GoldenJob() {}

  /** Fills the state with as many events as its run permits. */
  static StreamGraph filling(Configuration configuration, int parallelism, String run) {
    StreamExecutionEnvironment env = environment(configuration, parallelism);
    // One reader, which takes every permit and keeps the order.
    DataStream<Tuple2<Long, Long>> events =
        env.fromSource(
                new EventSource(TRAFFIC, JobRun.gated(run)),
                WatermarkStrategy.forMonotonousTimestamps(),
                "events",
                TypeInformation.of(Event.class))
            .uid("events")
            .setParallelism(1)
            .map(event -> Tuple2.of(event.key(), event.value()))
            .returns(PAIR)
            .setParallelism(1);
    return graph(env, events, run);
  }

  /** Shows what the state holds, without changing it. */
  static StreamGraph showing(Configuration configuration, int parallelism, String run) {
    StreamExecutionEnvironment env = environment(configuration, parallelism);
    DataStream<Tuple2<Long, Long>> questions =
        env.fromData(PAIR, keys())
            .uid("questions")
            .assignTimestampsAndWatermarks(
                WatermarkStrategy.<Tuple2<Long, Long>>forMonotonousTimestamps()
                    .withTimestampAssigner((question, before) -> 0))
            .uid("their time");
    return graph(env, questions, run);
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // an array of tuples
  private static Tuple2<Long, Long>[] keys() {
    return LongStream.range(0, KEYS).mapToObj(key -> Tuple2.of(key, SHOW)).toArray(Tuple2[]::new);
  }

  private static StreamExecutionEnvironment environment(
      Configuration configuration, int parallelism) {
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    env.setParallelism(parallelism);
    env.setMaxParallelism(MAX_PARALLELISM);
    return env;
  }

  private static StreamGraph graph(
      StreamExecutionEnvironment env, DataStream<Tuple2<Long, Long>> events, String run) {
    DataStream<String> states =
        keyed(events).process(new States()).returns(Types.STRING).uid("states");
    DataStream<String> window =
        keyed(events.filter(event -> event.f1 != SHOW))
            .window(TumblingEventTimeWindows.of(Duration.ofMillis(FAR_MILLIS)))
            .reduce((a, b) -> Tuple2.of(a.f0, a.f1 + b.f1))
            .uid("window")
            .map(sum -> sum.f0 + " window " + sum.f1)
            .returns(Types.STRING);
    states
        .union(window)
        .map(
            line -> {
              JobRun.named(run).line(line);
              return line;
            })
        .returns(Types.STRING)
        .sinkTo(new DiscardingSink<>());
    return env.getStreamGraph();
  }

  private static KeyedStream<Tuple2<Long, Long>, Long> keyed(DataStream<Tuple2<Long, Long>> pairs) {
    return pairs.keyBy(pair -> pair.f0, Types.LONG);
  }

  /** What {@link #showing} must emit after so many events, computed without a state. */
  static List<String> expected(int events) {
    TreeMap<Long, List<Long>> byKey = new TreeMap<>();
    for (int i = 0; i < events; i++) {
      Event event = TRAFFIC.at(0, i);
      byKey.computeIfAbsent(event.key(), unused -> new ArrayList<>()).add(event.value());
    }
    List<String> lines = new ArrayList<>();
    byKey.forEach(
        (key, values) -> {
          TreeMap<Long, String> map = new TreeMap<>();
          values.forEach(value -> map.put(value % 100, "v" + value));
          long sum = values.stream().mapToLong(Long::longValue).sum();
          long max = values.stream().mapToLong(Long::longValue).max().orElse(0);
          String last = "last " + values.get(values.size() - 1);
          lines.add(line(key, sum, values, map, max, sum / values.size(), last));
          values.stream()
              .map(value -> value % TIMES)
              .distinct()
              .forEach(time -> lines.add(key + " timer " + (FAR_MILLIS + time)));
          lines.add(key + " window " + sum);
        });
    return lines.stream().sorted().toList();
  }

  private static String line(
      long key, long sum, List<Long> all, Map<Long, String> map, long max, long mean, String last) {
    return key + " " + sum + " " + all + " " + map + " " + max + " " + mean + " " + last;
  }

  /** Confined to the task thread. */
  private static final class States extends KeyedProcessFunction<Long, Tuple2<Long, Long>, String> {

    private static final long serialVersionUID = 1L;
    private transient ValueState<Long> sum;
    private transient ListState<Long> all;
    private transient MapState<Long, String> map;
    private transient ReducingState<Long> max;
    private transient AggregatingState<Long, Long> mean;
    private transient ValueState<String> last;

    @Override
    public void open(OpenContext context) {
      var states = getRuntimeContext();
      sum = states.getState(new ValueStateDescriptor<>("sum", Types.LONG));
      all = states.getListState(new ListStateDescriptor<>("all", Types.LONG));
      map = states.getMapState(new MapStateDescriptor<>("map", Types.LONG, Types.STRING));
      max = states.getReducingState(new ReducingStateDescriptor<>("max", Math::max, Types.LONG));
      mean = states.getAggregatingState(new AggregatingStateDescriptor<>("mean", new Mean(), PAIR));
      ValueStateDescriptor<String> expiring = new ValueStateDescriptor<>("last", Types.STRING);
      expiring.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofDays(100 * 365)).build());
      last = states.getState(expiring);
    }

    @Override
    public void processElement(Tuple2<Long, Long> event, Context context, Collector<String> out)
        throws Exception {
      long key = context.getCurrentKey();
      if (event.f1 == SHOW) {
        TreeMap<Long, String> entries = new TreeMap<>();
        map.entries().forEach(entry -> entries.put(entry.getKey(), entry.getValue()));
        List<Long> list = new ArrayList<>();
        all.get().forEach(list::add);
        out.collect(line(key, sum.value(), list, entries, max.get(), mean.get(), last.value()));
        return;
      }
      Long before = sum.value();
      sum.update((before == null ? 0 : before) + event.f1);
      all.add(event.f1);
      map.put(event.f1 % 100, "v" + event.f1);
      max.add(event.f1);
      mean.add(event.f1);
      last.update("last " + event.f1);
      context.timerService().registerEventTimeTimer(FAR_MILLIS + event.f1 % TIMES);
      context.timerService().registerEventTimeTimer(FAR_MILLIS + TIMES);
      context.timerService().deleteEventTimeTimer(FAR_MILLIS + TIMES);
      out.collect("event at " + context.timestamp());
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) {
      out.collect(context.getCurrentKey() + " timer " + timestamp);
    }
  }

  /** Sum and count; the mean rounded down. */
  private static final class Mean implements AggregateFunction<Long, Tuple2<Long, Long>, Long> {

    private static final long serialVersionUID = 1L;

    @Override
    public Tuple2<Long, Long> createAccumulator() {
      return Tuple2.of(0L, 0L);
    }

    @Override
    public Tuple2<Long, Long> add(Long value, Tuple2<Long, Long> sum) {
      return Tuple2.of(sum.f0 + value, sum.f1 + 1);
    }

    @Override
    public Long getResult(Tuple2<Long, Long> sum) {
      return sum.f0 / sum.f1;
    }

    @Override
    public Tuple2<Long, Long> merge(Tuple2<Long, Long> a, Tuple2<Long, Long> b) {
      return Tuple2.of(a.f0 + b.f0, a.f1 + b.f1);
    }
  }
}
