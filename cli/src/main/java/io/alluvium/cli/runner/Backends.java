package io.alluvium.cli.runner;

import io.alluvium.Components;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.cli.input.JobException;
import io.alluvium.config.CoreOptions;
import io.alluvium.spi.Metrics;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Opens the state backend, and knows what its settings mean for a job. Stateless. */
public final class Backends {

  private static final Pattern SCHEME = Pattern.compile("\\s*[a-zA-Z][a-zA-Z0-9+.-]+:");
  private static final Pattern LOCAL =
      Pattern.compile("\\s*(file|memory):", Pattern.CASE_INSENSITIVE);

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

  /**
   * How long a job may wait for storage that does not answer: not at all for local directories,
   * which need a person then.
   *
   * @param settings by option key
   * @param tolerated for storage behind a network
   */
  static Duration outages(Map<String, String> settings, Duration tolerated) {
    return isBehindNetwork(settings.get(CoreOptions.CHECKPOINT_DIRECTORY.key()))
            || isBehindNetwork(settings.get(CoreOptions.CHANGELOG_DIRECTORY.key()))
        ? tolerated
        : Duration.ZERO;
  }

  private static boolean isBehindNetwork(@Nullable String uri) {
    return uri != null && SCHEME.matcher(uri).lookingAt() && !LOCAL.matcher(uri).lookingAt();
  }
}
