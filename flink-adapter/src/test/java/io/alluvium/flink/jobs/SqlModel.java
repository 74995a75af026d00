package io.alluvium.flink.jobs;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** What {@link SqlQueries} must give, computed from the traffic without a stream processor. */
final class SqlModel {

  private SqlModel() {}

  /** The lines of all queries, each with the number of times it is there. */
  static Set<String> expected(Traffic traffic) {
    Map<Long, List<Event>> byKey = traffic.all().collect(Collectors.groupingBy(Event::key));
    return Stream.of(SqlQueries.values())
        .flatMap(query -> byKey.values().stream().flatMap(events -> lines(query, events)))
        .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()))
        .entrySet()
        .stream()
        .map(line -> line.getKey() + " x" + line.getValue())
        .collect(Collectors.toSet());
  }

  private static Stream<String> lines(SqlQueries query, List<Event> events) {
    long key = events.get(0).key();
    Stream<String> fields =
        switch (query) {
          case GROUP -> Stream.of(group(events));
          case JOIN ->
              Stream.of(
                  sum(events, value -> value % 2 == 0)
                      + " "
                      + sum(events, value -> value % 2 == 1));
          case LEFT_JOIN -> leftJoin(events);
          case TOP ->
              events.stream()
                  .sorted(
                      Comparator.comparingLong(Event::value)
                          .thenComparingLong(Event::timeMillis)
                          .reversed())
                  .limit(SqlQueries.TOP_ROWS)
                  .map(event -> event.timeMillis() + " " + event.value());
          case FIRST ->
              events.stream()
                  .collect(Collectors.toMap(Event::value, Event::timeMillis, Math::min))
                  .entrySet()
                  .stream()
                  .map(first -> first.getKey() + " " + first.getValue());
          case TUMBLE -> windows(events, time -> LongStream.of(start(time)), Job.SIZE_MILLIS);
          case HOP -> windows(events, SqlModel::hops, Job.SIZE_MILLIS);
          case CUMULATE -> cumulate(events);
          case SESSION -> sessions(events);
        };
    return fields.map(line -> query.line(key + " " + line));
  }

  private static String group(List<Event> events) {
    LongSummaryStatistics all = events.stream().mapToLong(Event::value).summaryStatistics();
    long distinct = events.stream().mapToLong(Event::value).distinct().count();
    return all.getCount()
        + " "
        + all.getSum()
        + " "
        + all.getMin()
        + " "
        + all.getMax()
        + " "
        + distinct;
  }

  private static long sum(List<Event> events, Predicate<Long> which) {
    return events.stream().map(Event::value).filter(which).mapToLong(Long::longValue).sum();
  }

  private static Stream<String> leftJoin(List<Event> events) {
    List<String> right =
        events.stream()
            .filter(
                event -> event.value() >= SqlQueries.RARE && event.value() < 2 * SqlQueries.RARE)
            .map(event -> event.timeMillis() + " " + event.value())
            .toList();
    List<String> partners = right.isEmpty() ? List.of("null null") : right;
    return events.stream()
        .filter(event -> event.value() < SqlQueries.RARE)
        .flatMap(
            left ->
                partners.stream()
                    .map(partner -> left.timeMillis() + " " + left.value() + " " + partner));
  }

  private static long start(long time) {
    return time - time % Job.SIZE_MILLIS;
  }

  private static LongStream hops(long time) {
    long last = time - time % Job.SLIDE_MILLIS;
    return LongStream.iterate(
        last, start -> start > time - Job.SIZE_MILLIS, start -> start - Job.SLIDE_MILLIS);
  }

  private static Stream<String> windows(
      List<Event> events, Function<Long, LongStream> starts, long size) {
    TreeMap<Long, List<Event>> byStart = new TreeMap<>();
    for (Event event : events) {
      starts
          .apply(event.timeMillis())
          .forEach(start -> byStart.computeIfAbsent(start, unused -> new ArrayList<>()).add(event));
    }
    return byStart.entrySet().stream()
        .map(window -> window(window.getKey(), window.getKey() + size, window.getValue()));
  }

  private static String window(long from, long to, List<Event> events) {
    return from + " " + to + " " + events.size() + " " + sum(events, value -> true);
  }

  private static Stream<String> cumulate(List<Event> events) {
    return LongStream.iterate(
            Job.SLIDE_MILLIS, step -> step <= Job.SIZE_MILLIS, step -> step + Job.SLIDE_MILLIS)
        .boxed()
        .flatMap(
            step ->
                windows(
                    events.stream()
                        .filter(event -> event.timeMillis() % Job.SIZE_MILLIS < step)
                        .toList(),
                    time -> LongStream.of(start(time)),
                    step));
  }

  private static Stream<String> sessions(List<Event> events) {
    List<List<Event>> sessions = new ArrayList<>();
    long end = Long.MIN_VALUE;
    for (Event event :
        events.stream().sorted(Comparator.comparingLong(Event::timeMillis)).toList()) {
      if (sessions.isEmpty() || event.timeMillis() > end) {
        sessions.add(new ArrayList<>());
      }
      sessions.get(sessions.size() - 1).add(event);
      end = event.timeMillis() + Job.GAP_MILLIS;
    }
    return sessions.stream()
        .map(
            session ->
                window(
                    session.get(0).timeMillis(),
                    session.get(session.size() - 1).timeMillis() + Job.GAP_MILLIS,
                    session));
  }
}
