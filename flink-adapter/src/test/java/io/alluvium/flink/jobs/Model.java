package io.alluvium.flink.jobs;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/** What each job must emit, computed from the traffic without a stream processor. */
final class Model {

  private Model() {}

  static String window(long key, long from, long to, long count, long sum) {
    return key + " [" + from + "," + to + ") " + count + " " + sum;
  }

  static String pair(Event left, Event right) {
    return left + " " + right;
  }

  static String bucket(long key, long bucket, long count, long sum, List<Long> values) {
    return key + " bucket " + bucket + " " + count + " " + sum + " " + values;
  }

  static String total(long key, long count, long max, long average) {
    return key + " total " + count + " " + max + " " + average;
  }

  private static Map<Long, List<Event>> byKey(Traffic traffic) {
    return traffic.all().collect(Collectors.groupingBy(Event::key));
  }

  private static LongSummaryStatistics summary(List<Event> events) {
    return events.stream().mapToLong(Event::value).summaryStatistics();
  }

  private static Set<String> perKey(
      Traffic traffic, Function<Map.Entry<Long, List<Event>>, Set<String>> lines) {
    return byKey(traffic).entrySet().stream()
        .flatMap(entry -> lines.apply(entry).stream())
        .collect(Collectors.toSet());
  }

  static Set<String> windows(Traffic traffic, long size, long slide) {
    return perKey(
        traffic,
        entry -> {
          Map<Long, List<Event>> byStart = new TreeMap<>();
          for (Event event : entry.getValue()) {
            long last = Math.floorDiv(event.timeMillis(), slide) * slide;
            for (long start = last; start > event.timeMillis() - size; start -= slide) {
              byStart.computeIfAbsent(start, unused -> new ArrayList<>()).add(event);
            }
          }
          Set<String> lines = new HashSet<>();
          byStart.forEach(
              (start, events) ->
                  lines.add(
                      window(
                          entry.getKey(),
                          start,
                          start + size,
                          events.size(),
                          summary(events).getSum())));
          return lines;
        });
  }

  static Set<String> sessions(Traffic traffic, long gap) {
    return perKey(
        traffic,
        entry -> {
          List<Event> events = new ArrayList<>(entry.getValue());
          events.sort(Comparator.comparingLong(Event::timeMillis));
          Set<String> lines = new HashSet<>();
          List<Event> session = new ArrayList<>();
          for (Event event : events) {
            if (!session.isEmpty()
                && event.timeMillis() > session.get(session.size() - 1).timeMillis() + gap) {
              lines.add(session(entry.getKey(), session, gap));
              session.clear();
            }
            session.add(event);
          }
          lines.add(session(entry.getKey(), session, gap));
          return lines;
        });
  }

  private static String session(long key, List<Event> session, long gap) {
    return window(
        key,
        session.get(0).timeMillis(),
        session.get(session.size() - 1).timeMillis() + gap,
        session.size(),
        summary(session).getSum());
  }

  static Set<String> pairs(Traffic traffic, long distance) {
    Map<Long, List<Event>> other = byKey(traffic.other());
    return perKey(
        traffic,
        entry -> {
          Set<String> lines = new HashSet<>();
          for (Event left : entry.getValue()) {
            for (Event right : other.getOrDefault(entry.getKey(), List.of())) {
              if (Math.abs(left.timeMillis() - right.timeMillis()) <= distance) {
                lines.add(pair(left, right));
              }
            }
          }
          return lines;
        });
  }

  static Set<String> buckets(Traffic traffic) {
    return perKey(
        traffic,
        entry -> {
          Set<String> lines = new HashSet<>();
          entry.getValue().stream()
              .collect(Collectors.groupingBy(event -> Bucketing.bucket(event.timeMillis())))
              .forEach(
                  (bucket, events) ->
                      lines.add(
                          bucket(
                              entry.getKey(),
                              bucket,
                              events.size(),
                              summary(events).getSum(),
                              events.stream().map(Event::value).sorted().toList())));
          LongSummaryStatistics all = summary(entry.getValue());
          lines.add(
              total(entry.getKey(), all.getCount(), all.getMax(), all.getSum() / all.getCount()));
          return lines;
        });
  }

  static Set<String> groups(Traffic traffic) {
    return perKey(
        traffic,
        entry ->
            Set.of(
                group(entry)
                    + " "
                    + entry.getValue().stream().mapToLong(Event::value).distinct().count()));
  }

  static Set<String> groupsWithoutDistinct(Traffic traffic) {
    return perKey(traffic, entry -> Set.of(group(entry)));
  }

  private static String group(Map.Entry<Long, List<Event>> entry) {
    LongSummaryStatistics all = summary(entry.getValue());
    return entry.getKey()
        + " "
        + all.getCount()
        + " "
        + all.getSum()
        + " "
        + all.getMin()
        + " "
        + all.getMax();
  }

  /** Of the lines {@code key count ...}, those with the greatest count of their key. */
  static Set<String> lastByCount(Set<String> lines) {
    Map<String, Long> greatest = new HashMap<>();
    Map<String, Set<String>> last = new HashMap<>();
    for (String line : lines) {
      String[] words = line.split(" ", 3);
      long count = Long.parseLong(words[1]);
      long before = greatest.getOrDefault(words[0], 0L);
      if (count > before) {
        greatest.put(words[0], count);
        last.put(words[0], new HashSet<>());
      }
      if (count >= before) {
        last.computeIfAbsent(words[0], unused -> new HashSet<>()).add(line);
      }
    }
    return last.values().stream().flatMap(Set::stream).collect(Collectors.toSet());
  }
}
