package io.alluvium.flink.jobs;

import java.time.Duration;
import java.util.Set;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.table.api.TableConfig;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;

/**
 * The jobs. Each line that one emits depends on the traffic alone, whatever the order of its
 * slices: a line that the model does not know is wrong, even when a right one replaces it later.
 */
public enum Job {
  /** A keyed process function with timers and all five kinds of state. */
  TIMERS {
    @Override
    DataStream<String> build(KeyedStream<Event, Long> keyed, DataStream<Event> other) {
      return keyed.process(new Bucketing()).returns(Types.STRING);
    }

    @Override
    Set<String> expected(Traffic traffic) {
      return Model.buckets(traffic);
    }
  },
  /** As TIMERS, with Flink's asynchronous state. */
  ASYNC_TIMERS {
    @Override
    DataStream<String> build(KeyedStream<Event, Long> keyed, DataStream<Event> other) {
      return keyed.enableAsyncState().process(new AsyncBucketing()).returns(Types.STRING);
    }

    @Override
    Set<String> expected(Traffic traffic) {
      return Model.buckets(traffic);
    }

    @Override
    boolean isAsync() {
      return true;
    }
  },
  TUMBLING {
    @Override
    DataStream<String> build(KeyedStream<Event, Long> keyed, DataStream<Event> other) {
      return keyed
          .window(TumblingEventTimeWindows.of(Duration.ofMillis(SIZE_MILLIS)))
          .aggregate(new Totals(), new WindowLine());
    }

    @Override
    Set<String> expected(Traffic traffic) {
      return Model.windows(traffic, SIZE_MILLIS, SIZE_MILLIS);
    }
  },
  SLIDING {
    @Override
    DataStream<String> build(KeyedStream<Event, Long> keyed, DataStream<Event> other) {
      // Without an aggregate the window keeps its events as a list.
      return keyed
          .window(
              SlidingEventTimeWindows.of(
                  Duration.ofMillis(SIZE_MILLIS), Duration.ofMillis(SLIDE_MILLIS)))
          .process(new WindowOfEvents());
    }

    @Override
    Set<String> expected(Traffic traffic) {
      return Model.windows(traffic, SIZE_MILLIS, SLIDE_MILLIS);
    }
  },
  SESSION {
    @Override
    DataStream<String> build(KeyedStream<Event, Long> keyed, DataStream<Event> other) {
      return keyed
          .window(EventTimeSessionWindows.withGap(Duration.ofMillis(GAP_MILLIS)))
          .aggregate(new Totals(), new WindowLine());
    }

    @Override
    Set<String> expected(Traffic traffic) {
      return Model.sessions(traffic, GAP_MILLIS);
    }
  },
  INTERVAL_JOIN {
    @Override
    DataStream<String> build(KeyedStream<Event, Long> keyed, DataStream<Event> other) {
      return keyed
          .intervalJoin(other.keyBy(Event::key, Types.LONG))
          .between(Duration.ofMillis(-JOIN_MILLIS), Duration.ofMillis(JOIN_MILLIS))
          .process(new Pairs());
    }

    @Override
    Set<String> expected(Traffic traffic) {
      return Model.pairs(traffic, JOIN_MILLIS);
    }
  },
  /** An unbounded GROUP BY of the Table API; its last line per key counts. */
  SQL {
    @Override
    DataStream<String> build(KeyedStream<Event, Long> keyed, DataStream<Event> other) {
      return query(
          StreamTableEnvironment.create(keyed.getExecutionEnvironment()),
          keyed,
          "SELECT k, COUNT(*), SUM(v), MIN(v), MAX(v), COUNT(DISTINCT v) FROM events GROUP BY k");
    }

    @Override
    Set<String> expected(Traffic traffic) {
      return Model.groups(traffic);
    }

    @Override
    Set<String> relevant(Set<String> lines) {
      return Model.lastByCount(lines);
    }
  },
  /** As SQL, with Flink's asynchronous state, which has no distinct aggregates. */
  ASYNC_SQL {
    @Override
    DataStream<String> build(KeyedStream<Event, Long> keyed, DataStream<Event> other) {
      StreamTableEnvironment tables =
          StreamTableEnvironment.create(keyed.getExecutionEnvironment());
      TableConfig unused = tables.getConfig().set("table.exec.async-state.enabled", "true");
      return query(
          tables, keyed, "SELECT k, COUNT(*), SUM(v), MIN(v), MAX(v) FROM events GROUP BY k");
    }

    @Override
    Set<String> expected(Traffic traffic) {
      return Model.groupsWithoutDistinct(traffic);
    }

    @Override
    Set<String> relevant(Set<String> lines) {
      return Model.lastByCount(lines);
    }

    @Override
    boolean isAsync() {
      return true;
    }
  },
  /** Grouping, joins, the first rows by an order, and window functions, with state that expires. */
  SQL_QUERIES {
    @Override
    DataStream<String> build(KeyedStream<Event, Long> keyed, DataStream<Event> other) {
      return SqlQueries.build(keyed);
    }

    @Override
    Set<String> expected(Traffic traffic) {
      return SqlModel.expected(traffic);
    }
  };

  static final long SIZE_MILLIS = 1000;
  static final long SLIDE_MILLIS = 250;
  static final long GAP_MILLIS = 150;
  static final long JOIN_MILLIS = 50;

  private static final TypeInformation<Event> EVENT = TypeInformation.of(Event.class);

  abstract DataStream<String> build(KeyedStream<Event, Long> keyed, DataStream<Event> other);

  /** Every line that the traffic must give. */
  abstract Set<String> expected(Traffic traffic);

  /** Whether it has asynchronous state, of which Flink makes no canonical savepoint. */
  boolean isAsync() {
    return false;
  }

  /** Those of the emitted lines that must be the expected ones. */
  Set<String> relevant(Set<String> lines) {
    return lines;
  }

  /**
   * Puts the job behind its sources.
   *
   * @param onTheWay stands between the events and the job
   */
  final DataStream<String> build(
      StreamExecutionEnvironment env,
      Traffic traffic,
      Pace pace,
      MapFunction<Event, Event> onTheWay) {
    DataStream<Event> events =
        source(env, "events", traffic, pace).map(onTheWay).returns(EVENT).uid("on the way");
    DataStream<Event> other =
        this == INTERVAL_JOIN ? source(env, "other", traffic.other(), pace) : events;
    return build(events.keyBy(Event::key, Types.LONG), other);
  }

  /** Traffic with ascending watermarks. */
  public static DataStream<Event> source(
      StreamExecutionEnvironment env, String name, Traffic traffic, Pace pace) {
    WatermarkStrategy<Event> ascending = WatermarkStrategy.forMonotonousTimestamps();
    return env.fromSource(new EventSource(traffic, pace), ascending, name, EVENT).uid(name);
  }

  private static DataStream<String> query(
      StreamTableEnvironment tables, KeyedStream<Event, Long> keyed, String query) {
    tables.createTemporaryView(
        "events",
        keyed
            .map(event -> Row.of(event.key(), event.value()))
            .returns(Types.ROW_NAMED(new String[] {"k", "v"}, Types.LONG, Types.LONG)));
    return tables.toChangelogStream(tables.sqlQuery(query)).map(Job::line).returns(Types.STRING);
  }

  private static String line(Row row) {
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < row.getArity(); i++) {
      line.append(i == 0 ? "" : " ").append(row.getField(i));
    }
    return line.toString();
  }

  private static final class Pairs extends ProcessJoinFunction<Event, Event, String> {
    private static final long serialVersionUID = 1L;

    @Override
    public void processElement(Event left, Event right, Context context, Collector<String> out) {
      out.collect(Model.pair(left, right));
    }
  }
}
