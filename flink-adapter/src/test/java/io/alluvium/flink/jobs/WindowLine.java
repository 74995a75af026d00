package io.alluvium.flink.jobs;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** The line of a window whose events were aggregated. Immutable. */
final class WindowLine extends ProcessWindowFunction<Tuple2<Long, Long>, String, Long, TimeWindow> {

  private static final long serialVersionUID = 1L;

  @Override
  public void process(
      Long key, Context context, Iterable<Tuple2<Long, Long>> totals, Collector<String> out) {
    for (Tuple2<Long, Long> total : totals) {
      out.collect(
          Model.window(
              key, context.window().getStart(), context.window().getEnd(), total.f0, total.f1));
    }
  }
}
