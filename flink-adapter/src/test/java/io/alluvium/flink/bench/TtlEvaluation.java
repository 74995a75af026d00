package io.alluvium.flink.bench;

import io.alluvium.flink.jobs.Cluster;
import io.alluvium.flink.jobs.Event;
import io.alluvium.flink.jobs.Job;
import io.alluvium.flink.jobs.Pace;
import io.alluvium.flink.jobs.Traffic;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.apache.flink.util.FileUtils;

/**
 * Jobs whose state has a time to live and jobs whose state has none, on Flink's rocksdb backend and
 * here: seconds from the first record to the end, and processor time for each record, in turns.
 * Confined to one thread.
 */
final class TtlEvaluation {

  /**
   * What to run.
   *
   * @param interval of the clean-up; zero for the default one
   */
  record Plan(
      Shape shape, long records, int keys, int rounds, Duration timeToLive, Duration interval) {}

  /** What the job does with its state. */
  enum Shape {
    /** Reads and writes a value for each record. */
    VALUE,
    /** Reads and writes one of 16 entries of a map for each record. */
    MAP,
    /** {@code SELECT ... FROM a JOIN b ON a.k = b.k}, as many records on each side. */
    JOIN
  }

  /** Who runs it. */
  enum Runner {
    FLINK_ROCKSDB_WITHOUT("Flink rocksdb, without TTL", Contender.FLINK_ROCKSDB, false),
    FLINK_ROCKSDB("Flink rocksdb, with TTL", Contender.FLINK_ROCKSDB, true),
    ALLUVIUM_WITHOUT("Alluvium, without TTL", Contender.ALLUVIUM, false),
    ALLUVIUM("Alluvium, with TTL", Contender.ALLUVIUM, true);

    private final String title;
    private final Contender contender;
    private final boolean limited;

    Runner(String title, Contender contender, boolean limited) {
      this.title = title;
      this.contender = contender;
      this.limited = limited;
    }
  }

  private static final int SLICES = 4;
  private static final int PARALLELISM = 2;
  private static final int ENTRIES = 16;
  private static final Duration CHECKPOINT = Duration.ofSeconds(1);
  private static final Duration MATERIALIZE = Duration.ofSeconds(30);
  private static final LongAdder SEEN = new LongAdder();
  private static final LongAdder RESULTS = new LongAdder();

  private TtlEvaluation() {}

  /** Takes {@code value|map|join RECORDS KEYS ROUNDS TTL_MS INTERVAL_MS}. */
  public static void main(String[] args) throws Exception {
    if (args.length != 6) {
      System.err.println(
          "usage: TtlEvaluation value|map|join RECORDS KEYS ROUNDS TTL_MS INTERVAL_MS (0: default)");
      System.exit(2);
    }
    run(
        new Plan(
            Shape.valueOf(args[0].toUpperCase(Locale.ROOT)),
            Long.parseLong(args[1]),
            Integer.parseInt(args[2]),
            Integer.parseInt(args[3]),
            Duration.ofMillis(Long.parseLong(args[4])),
            Duration.ofMillis(Long.parseLong(args[5]))),
        System.out);
    System.exit(0);
  }

  /** One turn; processor time is that of the process, which on a busy machine varies less. */
  record Took(double seconds, double cpuMicrosPerRecord) {

    private static Took median(List<Took> all) {
      return new Took(
          median(all.stream().mapToDouble(Took::seconds).sorted().toArray()),
          median(all.stream().mapToDouble(Took::cpuMicrosPerRecord).sorted().toArray()));
    }

    private static double median(double[] sorted) {
      int middle = sorted.length / 2;
      return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    private String text() {
      return String.format(
          Locale.ROOT, "%8.2f s %8.2f us CPU per record", seconds, cpuMicrosPerRecord);
    }
  }

  /** Gives the medians of each. */
  static Map<Runner, Took> run(Plan plan, PrintStream out) throws Exception {
    out.println(plan);
    Map<Runner, List<Took>> turns = new EnumMap<>(Runner.class);
    for (int round = 0; round < plan.rounds; round++) {
      for (Runner runner : Runner.values()) {
        Took took = turn(plan, runner);
        out.printf("%-26s %s%n", runner.title, took.text());
        turns.computeIfAbsent(runner, unused -> new ArrayList<>()).add(took);
      }
    }
    Map<Runner, Took> medians = new EnumMap<>(Runner.class);
    turns.forEach(
        (runner, all) -> {
          medians.put(runner, Took.median(all));
          out.printf("median %-26s %s%n", runner.title, Took.median(all).text());
        });
    return medians;
  }

  private static Took turn(Plan plan, Runner runner) throws Exception {
    Path scratch =
        Files.createDirectories(
            Path.of(System.getProperty("alluvium.scratch", System.getProperty("java.io.tmpdir"))));
    Path directory = Files.createTempDirectory(scratch, "ttl");
    SEEN.reset();
    RESULTS.reset();
    Configuration configuration =
        runner.contender.configuration(directory, CHECKPOINT, MATERIALIZE);
    if (runner.limited) {
      configuration.setString("table.exec.state.ttl", plan.timeToLive.toMillis() + " ms");
    }
    try (Cluster cluster = new Cluster(configuration)) {
      StreamExecutionEnvironment env =
          StreamExecutionEnvironment.getExecutionEnvironment(configuration);
      env.setParallelism(PARALLELISM);
      build(env, plan, runner.limited).sinkTo(new DiscardingSink<>());
      JobID job = cluster.submit(env.getStreamGraph(), SavepointRestoreSettings.none());
      while (SEEN.sum() == 0) {
        cluster.checkRunning(job);
        Thread.sleep(1);
      }
      long start = System.nanoTime();
      long startCpu = cpuNanos();
      cluster.awaitFinished(job, Duration.ofHours(1));
      Took took =
          new Took(
              (System.nanoTime() - start) / 1e9, (cpuNanos() - startCpu) / 1e3 / plan.records());
      long expected = expected(plan);
      if (RESULTS.sum() != expected) {
        throw new AssertionError("expected " + expected + " results, got " + RESULTS.sum());
      }
      return took;
    } finally {
      FileUtils.deleteDirectoryQuietly(directory.toFile());
    }
  }

  private static long cpuNanos() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private static Traffic traffic(Plan plan) {
    return new Traffic(1, SLICES, plan.records / SLICES, plan.keys);
  }

  private static long expected(Plan plan) {
    Traffic traffic = traffic(plan);
    if (plan.shape != Shape.JOIN) {
      return traffic.all().count();
    }
    Map<Long, Long> left = new HashMap<>();
    traffic.all().forEach(event -> left.merge(event.key(), 1L, Long::sum));
    return traffic.other().all().mapToLong(event -> left.getOrDefault(event.key(), 0L)).sum();
  }

  private static DataStream<Event> events(
      StreamExecutionEnvironment env, String name, Traffic traffic) {
    Pace pace = Pace.unlimited();
    return Job.source(env, name, traffic, pace)
        .map(
            event -> {
              SEEN.increment();
              return event;
            })
        .returns(TypeInformation.of(Event.class));
  }

  private static DataStream<Long> build(
      StreamExecutionEnvironment env, Plan plan, boolean limited) {
    DataStream<Event> left = events(env, "left", traffic(plan));
    if (plan.shape == Shape.JOIN) {
      return join(env, left, events(env, "right", traffic(plan).other()));
    }
    StateTtlConfig.Builder ttl = StateTtlConfig.newBuilder(plan.timeToLive);
    if (plan.interval.toMillis() > 0) {
      ttl.cleanupInRocksdbCompactFilter(1000, plan.interval);
    }
    return left.keyBy(Event::key, Types.LONG)
        .process(
            new ReadAndWrite(
                plan.shape == Shape.MAP, limited ? ttl.build() : StateTtlConfig.DISABLED))
        .returns(Types.LONG);
  }

  private static DataStream<Long> join(
      StreamExecutionEnvironment env, DataStream<Event> left, DataStream<Event> right) {
    StreamTableEnvironment tables = StreamTableEnvironment.create(env);
    tables.createTemporaryView("a", rows(left));
    tables.createTemporaryView("b", rows(right));
    return tables
        .toChangelogStream(tables.sqlQuery("SELECT a.k, a.v, b.v FROM a JOIN b ON a.k = b.k"))
        .map(
            row -> {
              RESULTS.increment();
              return 1L;
            })
        .returns(Types.LONG);
  }

  private static DataStream<Row> rows(DataStream<Event> events) {
    return events
        .map(event -> Row.of(event.key(), event.value()))
        .returns(Types.ROW_NAMED(new String[] {"k", "v"}, Types.LONG, Types.LONG));
  }

  private static final class ReadAndWrite extends KeyedProcessFunction<Long, Event, Long> {
    private static final long serialVersionUID = 1L;
    private final boolean ofMap;
    private final StateTtlConfig ttl;

    @SuppressWarnings("NullAway.Init") // Flink calls open before anything else.
    private transient ValueState<Long> value;

    @SuppressWarnings("NullAway.Init") // as above
    private transient MapState<Integer, Long> map;

    ReadAndWrite(boolean ofMap, StateTtlConfig ttl) {
      this.ofMap = ofMap;
      this.ttl = ttl;
    }

    @Override
    public void open(OpenContext context) {
      ValueStateDescriptor<Long> values = new ValueStateDescriptor<>("value", Types.LONG);
      MapStateDescriptor<Integer, Long> maps =
          new MapStateDescriptor<>("map", Types.INT, Types.LONG);
      if (ttl.isEnabled()) {
        values.enableTimeToLive(ttl);
        maps.enableTimeToLive(ttl);
      }
      value = getRuntimeContext().getState(values);
      map = getRuntimeContext().getMapState(maps);
    }

    @Override
    public void processElement(Event event, Context context, Collector<Long> out) throws Exception {
      if (ofMap) {
        int entry = (int) (event.value() % ENTRIES);
        Long before = map.get(entry);
        map.put(entry, before == null ? 1 : before + 1);
      } else {
        Long before = value.value();
        value.update(before == null ? 1 : before + 1);
      }
      RESULTS.increment();
    }
  }
}
