package io.alluvium.flink.jobs;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.v2.AggregatingState;
import org.apache.flink.api.common.state.v2.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.v2.ListState;
import org.apache.flink.api.common.state.v2.ListStateDescriptor;
import org.apache.flink.api.common.state.v2.MapState;
import org.apache.flink.api.common.state.v2.MapStateDescriptor;
import org.apache.flink.api.common.state.v2.ReducingState;
import org.apache.flink.api.common.state.v2.ReducingStateDescriptor;
import org.apache.flink.api.common.state.v2.StateFuture;
import org.apache.flink.api.common.state.v2.ValueState;
import org.apache.flink.api.common.state.v2.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * As {@link Bucketing}, with Flink's asynchronous state (State V2). Confined to the task thread.
 */
@SuppressWarnings("NullAway.Init") // Flink calls open before anything else.
final class AsyncBucketing extends KeyedProcessFunction<Long, Event, String> {

  private static final long serialVersionUID = 1L;
  private static final long END_OF_TIME = Long.MAX_VALUE - 1;

  private transient ValueState<Long> count;
  private transient MapState<Long, Long> sums;
  private transient ListState<Tuple2<Long, Long>> values;
  private transient ReducingState<Long> max;
  private transient AggregatingState<Event, Tuple2<Long, Long>> totals;

  @Override
  public void open(OpenContext context) {
    count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
    sums =
        getRuntimeContext().getMapState(new MapStateDescriptor<>("sums", Types.LONG, Types.LONG));
    values =
        getRuntimeContext()
            .getListState(new ListStateDescriptor<>("values", Types.TUPLE(Types.LONG, Types.LONG)));
    max =
        getRuntimeContext()
            .getReducingState(new ReducingStateDescriptor<>("max", Math::max, Types.LONG));
    totals =
        getRuntimeContext()
            .getAggregatingState(
                new AggregatingStateDescriptor<>(
                    "totals", new Totals(), Types.TUPLE(Types.LONG, Types.LONG)));
  }

  @Override
  public void processElement(Event event, Context context, Collector<String> out) {
    long bucket = Bucketing.bucket(event.timeMillis());
    StateFuture<?> unused =
        count
            .asyncValue()
            .thenCompose(before -> count.asyncUpdate(before == null ? 1 : before + 1));
    unused =
        sums.asyncGet(bucket)
            .thenCompose(sum -> sums.asyncPut(bucket, (sum == null ? 0 : sum) + event.value()));
    unused = values.asyncAdd(Tuple2.of(bucket, event.value()));
    unused = max.asyncAdd(event.value());
    unused = totals.asyncAdd(event);
    context.timerService().registerEventTimeTimer(bucket);
    context.timerService().registerEventTimeTimer(END_OF_TIME);
  }

  @Override
  public void onTimer(long time, OnTimerContext context, Collector<String> out) {
    long key = context.getCurrentKey();
    StateFuture<?> unused = time == END_OF_TIME ? total(key, out) : bucket(key, time, out);
  }

  private StateFuture<?> total(long key, Collector<String> out) {
    return count
        .asyncValue()
        .thenCompose(
            all ->
                totals
                    .asyncGet()
                    .thenCompose(
                        total ->
                            max.asyncGet()
                                .thenAccept(
                                    greatest ->
                                        out.collect(
                                            Model.total(
                                                key, all, greatest, total.f1 / total.f0)))));
  }

  private StateFuture<?> bucket(long key, long bucket, Collector<String> out) {
    List<Long> due = new ArrayList<>();
    List<Tuple2<Long, Long>> others = new ArrayList<>();
    return values
        .asyncGet()
        .thenCompose(
            all ->
                all.onNext(
                    value -> {
                      if (value.f0 == bucket) {
                        due.add(value.f1);
                      } else {
                        others.add(value);
                      }
                    }))
        .thenCompose(unused -> values.asyncUpdate(others))
        .thenCompose(unused -> sums.asyncGet(bucket))
        .thenCompose(
            sum -> {
              due.sort(null);
              out.collect(Model.bucket(key, bucket, due.size(), sum == null ? -1 : sum, due));
              return sums.asyncRemove(bucket);
            });
  }
}
