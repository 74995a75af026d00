package io.alluvium.flink.jobs;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.java.tuple.Tuple2;

/** Count and sum of values. Immutable. */
final class Totals implements AggregateFunction<Event, Tuple2<Long, Long>, Tuple2<Long, Long>> {

  private static final long serialVersionUID = 1L;

  @Override
  public Tuple2<Long, Long> createAccumulator() {
    return Tuple2.of(0L, 0L);
  }

  @Override
  public Tuple2<Long, Long> add(Event event, Tuple2<Long, Long> sum) {
    return Tuple2.of(sum.f0 + 1, sum.f1 + event.value());
  }

  @Override
  public Tuple2<Long, Long> getResult(Tuple2<Long, Long> sum) {
    return sum;
  }

  @Override
  public Tuple2<Long, Long> merge(Tuple2<Long, Long> a, Tuple2<Long, Long> b) {
    return Tuple2.of(a.f0 + b.f0, a.f1 + b.f1);
  }
}
