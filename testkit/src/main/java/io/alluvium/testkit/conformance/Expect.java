package io.alluvium.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Assertions on failures. Stateless. */
final class Expect {

  private Expect() {}

  /** Asserts that the call fails with a {@code StateBackendException} of that kind. */
  static AbstractThrowableAssert<?, ? extends Throwable> failure(
      StateBackendException.Kind kind, ThrowingCallable call) {
    return assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StateBackendException.class,
            e ->
                org.assertj.core.api.Assertions.assertThat(e.kind())
                    .as("kind of %s", e)
                    .isEqualTo(kind));
  }
}
