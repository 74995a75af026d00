package io.alluvium.flink;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Disables what {@code not-applicable.txt} lists, and says why. */
final class NotApplicable implements ExecutionCondition {

  /** Begins a line for the version that runs here alone, as {@code Flink 2.1, }. */
  private static final String HERE =
      "Flink " + EnvironmentInformation.getVersion().replaceFirst("(\\d+\\.\\d+).*", "$1") + ", ";

  private static final Map<String, String> REASONS = read();

  /** Reasons by class and method. */
  static Map<String, String> reasons() {
    return REASONS;
  }

  private static Map<String, String> read() {
    Map<String, String> reasons = new LinkedHashMap<>();
    try (InputStream in =
        Objects.requireNonNull(NotApplicable.class.getResourceAsStream("/not-applicable.txt"))) {
      for (String written :
          new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
        String line = written.startsWith(HERE) ? written.substring(HERE.length()) : written;
        int colon = line.indexOf(':');
        if (!line.startsWith("#") && !line.startsWith("Flink ") && colon > 0) {
          reasons.put(line.substring(0, colon), line.substring(colon + 1).trim());
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return reasons;
  }

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    Class<?> type = context.getTestClass().orElse(Object.class);
    String method = context.getTestMethod().map(Method::getName).orElse("");
    for (Class<?> c = type; c != null; c = c.getSuperclass()) {
      String reason = REASONS.get(c.getSimpleName() + "." + method);
      if (reason != null) {
        return ConditionEvaluationResult.disabled(reason);
      }
    }
    return ConditionEvaluationResult.enabled("not listed");
  }
}
