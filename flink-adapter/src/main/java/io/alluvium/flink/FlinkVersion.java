package io.alluvium.flink;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which versions of Flink the adapter runs on. What it stands on is internal to Flink and changes
 * from one minor version to the next, so that on an older one it would fail later with a missing
 * method. Stateless.
 */
final class FlinkVersion {

  /** For messages. */
  static final String SUPPORTED = "Flink 2.1, 2.2 and 2.3";

  private static final int MAJOR = 2;
  private static final int OLDEST_MINOR = 1;
  private static final int NEWEST_MINOR = 3;

  private static final Logger LOG = LoggerFactory.getLogger(FlinkVersion.class);
  private static final Pattern VERSION = Pattern.compile("(\\d{1,6})\\.(\\d{1,6})(\\D.*)?");

  private FlinkVersion() {}

  /** Refuses the Flink of this process if it is too old. */
  static void check() {
    check(EnvironmentInformation.getVersion());
  }

  /**
   * Refuses a version that is too old; one that is newer than all that were tested, or that cannot
   * be told, is tried with a warning.
   *
   * @throws IllegalConfigurationException naming the version and the supported ones
   */
  static void check(String found) {
    Matcher matcher = VERSION.matcher(found);
    if (!matcher.matches()) {
      LOG.warn("The version of Flink, '{}', cannot be told; Alluvium runs on {}", found, SUPPORTED);
      return;
    }
    int major = Integer.parseInt(matcher.group(1));
    int minor = Integer.parseInt(matcher.group(2));
    if (major < MAJOR || (major == MAJOR && minor < OLDEST_MINOR)) {
      throw new IllegalConfigurationException(
          "Flink "
              + found
              + " is too old for Alluvium, which runs on "
              + SUPPORTED
              + "; upgrade Flink, or set state.backend.type to one of Flink's own state backends");
    }
    if (major > MAJOR || minor > NEWEST_MINOR) {
      LOG.warn("Alluvium runs on {} and was not tested on Flink {}", SUPPORTED, found);
    }
  }
}
