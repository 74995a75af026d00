package io.alluvium.cli;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * What sliding-window must write for one file, event by event, the slow way: every window is looked
 * at for every event. Confined to one thread.
 */
final class WindowModel {
  record Key(String key, long start) implements Comparable<Key> {
    @Override
    public int compareTo(Key other) {
      int byStart = Long.compare(start, other.start);
      return byStart != 0 ? byStart : key.compareTo(other.key);
    }
  }

  private final long window;
  private final long slide;
  private final long lateness;
  private final Map<Key, List<BigDecimal>> open = new TreeMap<>();
  private final List<String> lines = new ArrayList<>();
  private long maxTime = Long.MIN_VALUE;
  long lateEvents;
  long lateDrops;

  WindowModel(long window, long slide, long lateness) {
    this.window = window;
    this.slide = slide;
    this.lateness = lateness;
  }

  void add(String key, long time, String value) {
    boolean late = false;
    // Some multiple of the slide far below, then the first window that reaches beyond the time.
    long start = (time / slide - 2 - window / slide) * slide;
    while (start + window <= time) {
      start += slide;
    }
    for (; start <= time; start += slide) {
      if (maxTime != Long.MIN_VALUE && start + window <= maxTime - lateness) {
        late = true;
        lateDrops++;
      } else {
        open.computeIfAbsent(new Key(key, start), unused -> new ArrayList<>())
            .add(new BigDecimal(value));
      }
    }
    lateEvents += late ? 1 : 0;
    maxTime = Math.max(maxTime, time);
    fire(maxTime - lateness);
  }

  List<String> finish() {
    fire(Long.MAX_VALUE);
    lines.sort(null);
    return lines;
  }

  private void fire(long watermark) {
    List<Key> due = open.keySet().stream().filter(key -> key.start + window <= watermark).toList();
    for (Key key : due) {
      List<BigDecimal> values = Objects.requireNonNull(open.remove(key));
      BigDecimal sum = BigDecimal.ZERO;
      BigDecimal max = values.get(0);
      for (BigDecimal value : values) {
        sum = sum.add(value);
        max = value.compareTo(max) > 0 ? value : max;
      }
      lines.add(
          key.key
              + "\t"
              + key.start
              + "\t"
              + (key.start + window)
              + "\t"
              + values.size()
              + "\t"
              + plain(sum)
              + "\t"
              + plain(max));
    }
  }

  private static String plain(BigDecimal number) {
    String text = number.toPlainString();
    return text.contains(".") ? text.replaceAll("\\.?0+$", "") : text;
  }
}
