package io.alluvium.flink;

import org.apache.flink.util.FlinkRuntimeException;

/** Failures that Flink's interfaces leave no checked exception for. Stateless. */
final class Failures {

  private Failures() {}

  static FlinkRuntimeException serializing(String what, Exception cause) {
    return new FlinkRuntimeException("cannot serialize " + what + ": " + cause.getMessage(), cause);
  }

  static FlinkRuntimeException deserializing(String what, Exception cause) {
    return new FlinkRuntimeException(
        "cannot deserialize " + what + ": " + cause.getMessage(), cause);
  }
}
