package io.alluvium.cli.runner;

import io.alluvium.cli.input.Position;
import io.alluvium.cli.input.Split;

/** How far event time has come. Stateless. */
final class Watermarks {

  private Watermarks() {}

  /** Of one split: nothing is known before its first event, nothing comes after its end. */
  static long of(Split split, Position position, long latenessMillis) {
    return of(position.offset() == split.end(), position.maxTimeMillis(), latenessMillis);
  }

  static long of(boolean finished, long maxTimeMillis, long latenessMillis) {
    if (finished) {
      return Long.MAX_VALUE;
    }
    return maxTimeMillis == Position.NO_TIME ? Long.MIN_VALUE : maxTimeMillis - latenessMillis;
  }
}
