package io.alluvium;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class StateBackendExceptionTest {

  @Test
  void toString_showsTheKind() {
    assertThat(StateBackendException.fenced("taken over"))
        .hasToString("io.alluvium.StateBackendException: FENCED: taken over");
  }
}
