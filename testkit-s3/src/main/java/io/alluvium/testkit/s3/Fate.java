package io.alluvium.testkit.s3;

import java.time.Duration;

/** What becomes of one request on its way to a server and back. Immutable. */
public sealed interface Fate {

  /** Nothing happens to it. */
  Fate NONE = new Delayed(Duration.ZERO);

  /** It arrives that late, also when whoever sent it has long given up; the answer is not held. */
  record Delayed(Duration by) implements Fate {}

  /** It arrives at once; its answer comes that late. */
  record AnsweredLate(Duration by) implements Fate {}

  /** It does not arrive; the answer is an error of S3, for example 503 and {@code SlowDown}. */
  record Refused(int status, String code) implements Fate {}

  /** It does not arrive; the connection is reset. */
  record Lost() implements Fate {}

  /** It arrives and takes effect; then the connection is reset instead of an answer. */
  record AnswerLost() implements Fate {}

  /** It does not arrive, and nobody answers for as long as the connection stays open. */
  record Unanswered() implements Fate {}
}
