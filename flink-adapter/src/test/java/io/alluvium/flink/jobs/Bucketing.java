package io.alluvium.flink.jobs;

import java.util.ArrayList;
import java.util.List;
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
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.TimeDomain;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Collects the values of a key in buckets of time and emits each bucket by a timer, and everything
 * by a last one. Confined to the task thread.
 */
@SuppressWarnings("NullAway.Init") // Flink calls open before anything else.
final class Bucketing extends KeyedProcessFunction<Long, Event, String> {

  private static final long serialVersionUID = 1L;
  private static final long BUCKET_MILLIS = 200;
  private static final long DECOY_MILLIS = 31;
  private static final long END_OF_TIME = Long.MAX_VALUE - 1;

  private transient ValueState<Long> count;
  private transient MapState<Long, Long> sums;
  private transient ListState<Tuple2<Long, Long>> values;
  private transient ReducingState<Long> max;
  private transient AggregatingState<Event, Tuple2<Long, Long>> totals;
  private transient ValueState<Long> ticks;

  static long bucket(long timeMillis) {
    return (timeMillis / BUCKET_MILLIS + 1) * BUCKET_MILLIS;
  }

  @Override
  public void open(OpenContext context) {
    count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
    ticks = getRuntimeContext().getState(new ValueStateDescriptor<>("ticks", Types.LONG));
    sums =
        getRuntimeContext().getMapState(new MapStateDescriptor<>("sums", Types.LONG, Types.LONG));
    values =
        getRuntimeContext()
            .getListState(new ListStateDescriptor<>("values", Types.TUPLE(Types.LONG, Types.LONG)));
    max =
        getRuntimeContext()
            .getReducingState(new ReducingStateDescriptor<>("max", Math::max, Types.LONG));
    AggregateFunction<Event, Tuple2<Long, Long>, Tuple2<Long, Long>> sum = new Totals();
    totals =
        getRuntimeContext()
            .getAggregatingState(
                new AggregatingStateDescriptor<>(
                    "totals", sum, Types.TUPLE(Types.LONG, Types.LONG)));
  }

  @Override
  public void processElement(Event event, Context context, Collector<String> out) throws Exception {
    Long before = count.value();
    count.update(before == null ? 1 : before + 1);
    long bucket = bucket(event.timeMillis());
    Long sum = sums.get(bucket);
    sums.put(bucket, (sum == null ? 0 : sum) + event.value());
    values.add(Tuple2.of(bucket, event.value()));
    max.add(event.value());
    totals.add(event);
    context.timerService().registerEventTimeTimer(bucket);
    // Deleted before its time: it must never fire.
    context.timerService().registerEventTimeTimer(bucket + DECOY_MILLIS);
    context.timerService().registerEventTimeTimer(END_OF_TIME);
    if (event.value() % 8 == 0) {
      context
          .timerService()
          .registerProcessingTimeTimer(context.timerService().currentProcessingTime() + 5);
    }
  }

  @Override
  public void onTimer(long time, OnTimerContext context, Collector<String> out) throws Exception {
    if (context.timeDomain() == TimeDomain.PROCESSING_TIME) {
      Long before = ticks.value();
      ticks.update(before == null ? 1 : before + 1);
    } else if (time == END_OF_TIME) {
      Long all = count.value();
      Tuple2<Long, Long> total = totals.get();
      if (!sums.isEmpty() || !total.f0.equals(all)) {
        out.collect(context.getCurrentKey() + " counted " + all + " but summed " + total);
      }
      out.collect(Model.total(context.getCurrentKey(), all, max.get(), total.f1 / total.f0));
    } else if (time % BUCKET_MILLIS == 0) {
      context.timerService().deleteEventTimeTimer(time + DECOY_MILLIS);
      out.collect(bucketLine(time, context.getCurrentKey()));
    } else {
      out.collect(context.getCurrentKey() + " has a timer that was deleted: " + time);
    }
  }

  private String bucketLine(long bucket, long key) throws Exception {
    List<Long> due = new ArrayList<>();
    List<Tuple2<Long, Long>> others = new ArrayList<>();
    for (Tuple2<Long, Long> value : values.get()) {
      if (value.f0 == bucket) {
        due.add(value.f1);
      } else {
        others.add(value);
      }
    }
    values.update(others);
    due.sort(null);
    Long sum = sums.get(bucket);
    sums.remove(bucket);
    return Model.bucket(key, bucket, due.size(), sum == null ? -1 : sum, due);
  }
}
