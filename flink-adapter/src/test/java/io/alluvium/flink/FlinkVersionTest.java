package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class FlinkVersionTest {

  @ParameterizedTest
  @ValueSource(strings = {"1.20.3", "1.20-SNAPSHOT", "1.20.0-amzn-7", "2.0.1", "2.0", "1.9"})
  void check_olderThanSupported_namesItAndTheSupportedOnes(String version) {
    assertThatThrownBy(() -> FlinkVersion.check(version))
        .isInstanceOf(IllegalConfigurationException.class)
        .hasMessageStartingWith("Flink " + version + " is too old")
        .hasMessageContaining("Flink 2.1, 2.2 and 2.3")
        .hasMessageContaining("state.backend.type");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"2.1.0", "2.1-SNAPSHOT", "2.2.1", "2.3.0", "2.10.0", "3.0.0", "<unknown>", ""})
  void check_supportedOrNewerOrUnknown_passes(String version) {
    assertThatNoException().isThrownBy(() -> FlinkVersion.check(version));
  }

  /** The check would be none if Flink did not tell its version. */
  @Test
  void version_isTold() {
    assertThat(EnvironmentInformation.getVersion())
        .isEqualTo(System.getProperty("alluvium.flink.version"));
  }
}
