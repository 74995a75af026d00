package io.alluvium.cli.runner;

import io.alluvium.Components;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.cli.input.JobException;
import io.alluvium.spi.Metrics;
import java.util.Map;

/** Opens the state backend. Stateless. */
public final class Backends {

  private Backends() {}

  /**
   * Opens a backend; a mistake in the settings is told as one of usage, all of them at once.
   *
   * @param settings by option key
   */
  public static StateBackend open(Map<String, String> settings, Metrics metrics) {
    try {
      return StateBackend.open(settings, Components.defaults().withMetrics(metrics));
    } catch (StateBackendException e) {
      if (e.kind() == StateBackendException.Kind.INVALID) {
        throw JobException.usage(String.valueOf(e.getMessage()), e);
      }
      throw e;
    }
  }
}
