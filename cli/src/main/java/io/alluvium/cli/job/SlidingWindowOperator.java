package io.alluvium.cli.job;

import io.alluvium.KeyedBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.ListState;
import io.alluvium.state.Namespaced;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.Timer;
import io.alluvium.state.TimerQueue;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Keeps the raw events of every window in list state, with the window's start as namespace, and
 * fires a window by an event-time timer at its end. Confined to the task thread.
 *
 * <p>A window fires as soon as the watermark reaches its end, so "has fired" is "ends at or before
 * the watermark" and needs no state. An element first advances the watermark to what its source had
 * seen before it: with one split the order of firing and the late events are the same in every run.
 */
final class SlidingWindowOperator implements Operator {

  /** Events that came too late for at least one window. */
  private static final String LATE_EVENTS = "late events";

  /** Windows that such events are missing from, counted per event. */
  private static final String LATE_DROPS = "late drops";

  private final KeyedBackend<String> backend;
  private final Output out;
  private final SlidingWindows windows;
  private final Namespaced<Long, ListState<Event>> events;
  private final TimerQueue<String, Long> timers;
  private long watermark;
  private long lateEvents;
  private long lateDrops;

  SlidingWindowOperator(
      KeyedBackend<String> backend, Output out, SlidingWindows windows, long watermark) {
    this.backend = backend;
    this.out = out;
    this.windows = windows;
    this.watermark = watermark;
    this.events = backend.state(StateDescriptor.list("events", Event.FORMAT), Serializers.int64());
    this.timers = backend.timers("fire", Serializers.int64());
  }

  @Override
  public void process(Element element) {
    long time = element.timeMillis();
    Event event = new Event(time, element.value());
    backend.setCurrentKey(element.key());
    boolean late = false;
    for (long start = windows.lastStart(time);
        windows.holds(start, time);
        start -= windows.slideMillis()) {
      long end = windows.end(start);
      if (end <= watermark) {
        late = true;
        lateDrops++;
      } else {
        events.in(start).add(event);
        timers.register(start, end);
      }
    }
    if (late) {
      lateEvents++;
    }
  }

  @Override
  public void advanceTo(long newWatermark) {
    if (newWatermark <= watermark) {
      return;
    }
    watermark = newWatermark;
    for (Timer<String, Long> timer = timers.peek();
        timer != null && timer.timestampMillis() <= watermark;
        timer = timers.peek()) {
      timers.poll();
      fire(timer.key(), timer.namespace());
    }
  }

  private void fire(String key, long start) {
    backend.setCurrentKey(key);
    ListState<Event> state = events.in(start);
    List<Event> list = state.get();
    BigDecimal sum = BigDecimal.ZERO;
    BigDecimal max = new BigDecimal(list.get(0).value());
    for (Event event : list) {
      BigDecimal value = new BigDecimal(event.value());
      sum = sum.add(value);
      max = max.max(value);
    }
    state.clear();
    out.line(
        String.join(
            "\t",
            Tsv.escape(key),
            Long.toString(start),
            Long.toString(windows.end(start)),
            Integer.toString(list.size()),
            plain(sum),
            plain(max)));
  }

  /** The same text however the numbers were written and in whatever order they came. */
  private static String plain(BigDecimal number) {
    return number.stripTrailingZeros().toPlainString();
  }

  @Override
  public void beforeCheckpoint() {}

  @Override
  public Map<String, Long> counters() {
    return Map.of(LATE_EVENTS, lateEvents, LATE_DROPS, lateDrops);
  }

  @Override
  public void results(Consumer<ResultRow> out) {}
}
