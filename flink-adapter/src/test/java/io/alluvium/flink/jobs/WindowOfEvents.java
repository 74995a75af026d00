package io.alluvium.flink.jobs;

import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** The line of a window that kept its events. Immutable. */
final class WindowOfEvents extends ProcessWindowFunction<Event, String, Long, TimeWindow> {

  private static final long serialVersionUID = 1L;

  @Override
  public void process(Long key, Context context, Iterable<Event> events, Collector<String> out) {
    long count = 0;
    long sum = 0;
    for (Event event : events) {
      count++;
      sum += event.value();
    }
    out.collect(
        Model.window(key, context.window().getStart(), context.window().getEnd(), count, sum));
  }
}
