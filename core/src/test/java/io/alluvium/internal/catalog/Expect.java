package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Checks of failures. */
final class Expect {

  private Expect() {}

  static void failure(Kind kind, ThrowingCallable call, String... parts) {
    AbstractThrowableAssert<?, ?> failure =
        assertThatThrownBy(call)
            .isInstanceOfSatisfying(
                StateBackendException.class,
                e -> assertThat(e.kind()).as("kind of %s", e).isEqualTo(kind));
    for (String part : parts) {
      failure.hasMessageContaining(part);
    }
  }
}
