package io.alluvium.flink.jobs;

import static io.alluvium.flink.jobs.Job.GAP_MILLIS;
import static io.alluvium.flink.jobs.Job.SIZE_MILLIS;
import static io.alluvium.flink.jobs.Job.SLIDE_MILLIS;

import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.TableConfig;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.Collector;

/**
 * Queries whose state expires, in one job: what each is in the end is kept as a multiset of rows
 * and emitted once, so that nothing depends on the order of changes. Stateless.
 */
enum SqlQueries {
  GROUP("SELECT k, COUNT(*), SUM(v), MIN(v), MAX(v), COUNT(DISTINCT v) FROM events GROUP BY k"),
  /** Of two results that change, each with a key of its own. */
  JOIN(
      """
      SELECT a.k, a.s, b.s
      FROM (SELECT k, SUM(v) AS s FROM events WHERE MOD(v, 2) = 0 GROUP BY k) a
      JOIN (SELECT k, SUM(v) AS s FROM events WHERE MOD(v, 2) = 1 GROUP BY k) b ON a.k = b.k"""),
  /** Of rows without a key; those without a partner yet are taken back when one comes. */
  LEFT_JOIN(
      """
      SELECT l.k, l.t, l.v, r.t, r.v
      FROM (SELECT * FROM events WHERE v < %1$d) l
      LEFT JOIN (SELECT * FROM events WHERE v BETWEEN %1$d AND 2 * %1$d - 1) r ON l.k = r.k"""
          .formatted(SqlQueries.RARE)),
  TOP(
      """
      SELECT k, t, v FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, t DESC) AS n FROM events)
      WHERE n <= %d"""
          .formatted(SqlQueries.TOP_ROWS)),
  /** The first row of each by event time, which need not come first. */
  FIRST(
      """
      SELECT k, v, t FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY k, v ORDER BY ts) AS n FROM events)
      WHERE n = 1"""),
  TUMBLE(windows("TUMBLE(TABLE events, DESCRIPTOR(ts), %s)", SIZE_MILLIS)),
  HOP(windows("HOP(TABLE events, DESCRIPTOR(ts), %s, %s)", SLIDE_MILLIS, SIZE_MILLIS)),
  CUMULATE(windows("CUMULATE(TABLE events, DESCRIPTOR(ts), %s, %s)", SLIDE_MILLIS, SIZE_MILLIS)),
  SESSION(windows("SESSION(TABLE events PARTITION BY k, DESCRIPTOR(ts), %s)", GAP_MILLIS));

  /** Values below are one side of the join, the same number above them the other. */
  static final int RARE = 64;

  static final int TOP_ROWS = 3;

  private static final TypeInformation<Tuple3<String, String, Boolean>> CHANGE =
      Types.TUPLE(Types.STRING, Types.STRING, Types.BOOLEAN);

  private final String query;

  SqlQueries(String query) {
    this.query = query;
  }

  private static String windows(String function, long... millis) {
    Object[] intervals = new Object[millis.length];
    for (int i = 0; i < millis.length; i++) {
      intervals[i] = "INTERVAL '%d.%03d' SECOND".formatted(millis[i] / 1000, millis[i] % 1000);
    }
    return "SELECT k, window_start, window_end, COUNT(*), SUM(v) FROM TABLE("
        + function.formatted(intervals)
        + ") GROUP BY k, window_start, window_end";
  }

  /** The line of a result, with the query's name. */
  String line(String fields) {
    return name() + " " + fields;
  }

  /** All queries over one stream of events. */
  static DataStream<String> build(DataStream<Event> events) {
    StreamTableEnvironment tables = StreamTableEnvironment.create(events.getExecutionEnvironment());
    TableConfig unused =
        tables.getConfig().set("table.exec.state.ttl", "1 h").set("table.local-time-zone", "UTC");
    tables.createTemporaryView(
        "events",
        events
            .map(event -> Row.of(event.key(), event.value(), event.timeMillis()))
            .returns(
                Types.ROW_NAMED(new String[] {"k", "v", "t"}, Types.LONG, Types.LONG, Types.LONG)),
        Schema.newBuilder()
            .column("k", "BIGINT")
            .column("v", "BIGINT")
            .column("t", "BIGINT")
            .columnByMetadata("ts", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
            .watermark("ts", "SOURCE_WATERMARK()")
            .build());
    return Stream.of(values())
        .map(query -> query.changes(tables))
        .reduce(DataStream::union)
        .orElseThrow()
        .keyBy(change -> change.f0, Types.STRING)
        .process(new Result())
        .returns(Types.STRING)
        .uid("results");
  }

  private DataStream<Tuple3<String, String, Boolean>> changes(StreamTableEnvironment tables) {
    return tables.toChangelogStream(tables.sqlQuery(query)).map(this::change).returns(CHANGE);
  }

  /** Query and key, line, whether it is a row that goes. */
  private Tuple3<String, String, Boolean> change(Row row) {
    StringBuilder fields = new StringBuilder();
    for (int i = 0; i < row.getArity(); i++) {
      Object field = row.getField(i);
      if (field instanceof LocalDateTime time) {
        field = time.toInstant(ZoneOffset.UTC).toEpochMilli();
      }
      fields.append(i == 0 ? "" : " ").append(field);
    }
    boolean goes = row.getKind() == RowKind.DELETE || row.getKind() == RowKind.UPDATE_BEFORE;
    return Tuple3.of(name() + " " + row.getField(0), line(fields.toString()), goes);
  }

  /** The rows of a result for one key, as often as they are there. Confined to the task thread. */
  private static final class Result
      extends KeyedProcessFunction<String, Tuple3<String, String, Boolean>, String> {

    private static final long serialVersionUID = 1L;
    private transient MapState<String, Integer> rows;

    @Override
    public void open(OpenContext context) {
      rows =
          getRuntimeContext()
              .getMapState(new MapStateDescriptor<>("rows", Types.STRING, Types.INT));
    }

    @Override
    public void processElement(
        Tuple3<String, String, Boolean> change, Context context, Collector<String> out)
        throws Exception {
      Integer before = rows.get(change.f1);
      int now = (before == null ? 0 : before) + (change.f2 ? -1 : 1);
      if (now == 0) {
        rows.remove(change.f1);
      } else {
        rows.put(change.f1, now);
      }
      context.timerService().registerEventTimeTimer(Long.MAX_VALUE);
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
        throws Exception {
      for (Map.Entry<String, Integer> row : rows.entries()) {
        out.collect(row.getKey() + " x" + row.getValue());
      }
    }
  }
}
