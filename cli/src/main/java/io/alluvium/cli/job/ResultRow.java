package io.alluvium.cli.job;

/** A final result, ordered by key in code-point order. Immutable. */
public record ResultRow(String key, long count) implements Comparable<ResultRow> {

  @Override
  public int compareTo(ResultRow other) {
    return CodePoints.compare(key, other.key);
  }
}
