package io.alluvium.flink.bench;

import io.alluvium.flink.jobs.Event;
import io.alluvium.flink.jobs.Traffic;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.triggers.EventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.triggers.TriggerResult;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** The jobs of the evaluation; each counts, so that a record lost or taken twice shows. */
enum Workload {
  /** Counts words of 200 bytes in a value state; a last timer tells the counts. */
  WORDCOUNT(1) {
    @Override
    DataStream<String> build(DataStream<Event> events) {
      return events
          .map(event -> word(event.key()))
          .returns(Types.STRING)
          .keyBy(word -> word, Types.STRING)
          .process(new Counting())
          .returns(Types.STRING);
    }

    @Override
    Map<String, Long> expected(Traffic traffic) {
      Map<String, Long> counts = new HashMap<>();
      traffic.all().forEach(event -> counts.merge(word(event.key()), 1L, Long::sum));
      return counts;
    }
  },
  /** Counts in event-time windows that overlap six times. */
  SLIDING_WINDOW(6) {
    @Override
    DataStream<String> build(DataStream<Event> events) {
      return events
          .keyBy(Event::key, Types.LONG)
          .window(
              SlidingEventTimeWindows.of(
                  Duration.ofMillis(SIZE_MILLIS), Duration.ofMillis(SLIDE_MILLIS)))
          .aggregate(new CountOfEvents(), new CountOfWindow());
    }

    @Override
    Map<String, Long> expected(Traffic traffic) {
      return windows(traffic, SIZE_MILLIS, SLIDE_MILLIS);
    }
  },
  /**
   * Keeps the records themselves, 100 bytes each, in event-time windows that overlap ten times; a
   * window that ends counts them. A window spans 160 000 records, so that about 200 MB are kept.
   */
  WINDOW_OF_RECORDS(10) {
    @Override
    DataStream<String> build(DataStream<Event> events) {
      return events
          .map(event -> Tuple2.of(event.key(), RECORD))
          .returns(Types.TUPLE(Types.LONG, Types.STRING))
          .keyBy(record -> record.f0, Types.LONG)
          .window(
              SlidingEventTimeWindows.of(
                  Duration.ofMillis(LONG_SIZE_MILLIS), Duration.ofMillis(LONG_SLIDE_MILLIS)))
          .trigger(new CountedTrigger())
          .apply(new SizeOfWindow());
    }

    @Override
    Map<String, Long> expected(Traffic traffic) {
      return windows(traffic, LONG_SIZE_MILLIS, LONG_SLIDE_MILLIS);
    }
  };

  private static final long SLIDE_MILLIS = 10_000;
  private static final long SIZE_MILLIS = 6 * SLIDE_MILLIS;
  private static final long LONG_SLIDE_MILLIS = 20_000;
  private static final long LONG_SIZE_MILLIS = 10 * LONG_SLIDE_MILLIS;
  private static final int WORD_LENGTH = 200;
  private static final String FILLER = "x".repeat(WORD_LENGTH);

  /** Its length and the key beside it make it 100 bytes. */
  private static final String RECORD = "x".repeat(91);

  /** Accesses of state in the running job. */
  static final LongAdder UPDATES = new LongAdder();

  /** What the running job told. */
  static final Map<String, Long> RESULTS = new ConcurrentHashMap<>();

  private final int updatesPerRecord;

  Workload(int updatesPerRecord) {
    this.updatesPerRecord = updatesPerRecord;
  }

  int updatesPerRecord() {
    return updatesPerRecord;
  }

  /** Puts the job behind its source; its results go to {@link #RESULTS}. */
  abstract DataStream<String> build(DataStream<Event> events);

  /** What {@link #RESULTS} must hold in the end. */
  abstract Map<String, Long> expected(Traffic traffic);

  private static String word(long key) {
    String number = String.valueOf(key);
    return number + FILLER.substring(number.length());
  }

  private static String window(long key, long from) {
    return key + "@" + from;
  }

  /** How many events each window of each key holds. */
  private static Map<String, Long> windows(Traffic traffic, long sizeMillis, long slideMillis) {
    Map<String, Long> counts = new HashMap<>();
    traffic
        .all()
        .forEach(
            event -> {
              long from = Math.floorDiv(event.timeMillis(), slideMillis) * slideMillis;
              for (; from > event.timeMillis() - sizeMillis; from -= slideMillis) {
                counts.merge(window(event.key(), from), 1L, Long::sum);
              }
            });
    return counts;
  }

  private static final class Counting extends KeyedProcessFunction<String, String, String> {
    private static final long serialVersionUID = 1L;
    private static final long END_OF_TIME = Long.MAX_VALUE - 1;

    @SuppressWarnings("NullAway.Init") // Flink calls open before anything else.
    private transient ValueState<Long> count;

    @Override
    public void open(OpenContext context) {
      count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
    }

    @Override
    public void processElement(String word, Context context, Collector<String> out)
        throws Exception {
      Long before = count.value();
      count.update(before == null ? 1 : before + 1);
      if (before == null) {
        context.timerService().registerEventTimeTimer(END_OF_TIME);
      }
      UPDATES.increment();
    }

    @Override
    public void onTimer(long time, OnTimerContext context, Collector<String> out) throws Exception {
      RESULTS.put(context.getCurrentKey(), count.value());
    }
  }

  private static final class CountOfEvents implements AggregateFunction<Event, Long, Long> {
    private static final long serialVersionUID = 1L;

    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(Event event, Long count) {
      UPDATES.increment();
      return count + 1;
    }

    @Override
    public Long getResult(Long count) {
      return count;
    }

    @Override
    public Long merge(Long a, Long b) {
      return a + b;
    }
  }

  private static final class CountOfWindow
      implements WindowFunction<Long, String, Long, TimeWindow> {
    private static final long serialVersionUID = 1L;

    @Override
    public void apply(Long key, TimeWindow window, Iterable<Long> counts, Collector<String> out) {
      counts.forEach(count -> RESULTS.put(window(key, window.getStart()), count));
    }
  }

  /** Fires when the window ends, and counts what is added, for which Flink calls nobody else. */
  private static final class CountedTrigger extends Trigger<Object, TimeWindow> {
    private static final long serialVersionUID = 1L;

    private final EventTimeTrigger trigger = EventTimeTrigger.create();

    @Override
    public TriggerResult onElement(
        Object element, long timestamp, TimeWindow window, TriggerContext context)
        throws Exception {
      UPDATES.increment();
      return trigger.onElement(element, timestamp, window, context);
    }

    @Override
    public TriggerResult onProcessingTime(long time, TimeWindow window, TriggerContext context)
        throws Exception {
      return trigger.onProcessingTime(time, window, context);
    }

    @Override
    public TriggerResult onEventTime(long time, TimeWindow window, TriggerContext context)
        throws Exception {
      return trigger.onEventTime(time, window, context);
    }

    @Override
    public void clear(TimeWindow window, TriggerContext context) throws Exception {
      trigger.clear(window, context);
    }
  }

  private static final class SizeOfWindow
      implements WindowFunction<Tuple2<Long, String>, String, Long, TimeWindow> {
    private static final long serialVersionUID = 1L;

    @Override
    public void apply(
        Long key,
        TimeWindow window,
        Iterable<Tuple2<Long, String>> records,
        Collector<String> out) {
      long count = 0;
      for (Tuple2<Long, String> record : records) {
        count += record.f0.equals(key) && record.f1.equals(RECORD) ? 1 : 0;
      }
      RESULTS.put(window(key, window.getStart()), count);
    }
  }
}
