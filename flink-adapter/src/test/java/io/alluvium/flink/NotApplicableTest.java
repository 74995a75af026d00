package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

final class NotApplicableTest {

  private static final List<Class<?>> SUITES =
      List.of(FlinkStateBackendSuiteTest.class, FlinkMigrationSuiteTest.class, FlinkTtlSuite.class);

  @Test
  void everyLine_namesATestAndAReason() {
    NotApplicable.reasons()
        .forEach(
            (test, reason) -> {
              assertThat(reason).as(test).hasSizeGreaterThan(20);
              assertThat(SUITES).as(test).anyMatch(suite -> has(suite, test));
            });
    assertThat(NotApplicable.reasons()).isNotEmpty();
  }

  private static boolean has(Class<?> suite, String test) {
    for (Class<?> c = suite; c != null && c != Object.class; c = c.getSuperclass()) {
      boolean found =
          Arrays.stream(c.getDeclaredMethods())
              .anyMatch(method -> (suite.getSimpleName() + "." + method.getName()).equals(test));
      if (found) {
        return true;
      }
    }
    return false;
  }
}
