package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.StateBackend;
import io.alluvium.config.Option;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ConfigurationPageTest {

  private static final Path PAGE =
      Path.of(System.getProperty("alluvium.root"), "docs", "configuration.md");

  @Test
  void page_isWhatTheCodeSays() throws IOException {
    String generated = ConfigurationPage.of(StateBackend.options());
    if (Boolean.getBoolean("alluvium.write")) {
      Files.writeString(PAGE, generated);
    }

    assertThat(Files.readString(PAGE))
        .as("docs/configuration.md; run this test with -Dalluvium.write=true to write it anew")
        .isEqualTo(generated);
  }

  @Test
  void defaults_liveUpToTheirOwnRules() {
    for (Option<?> option : StateBackend.options()) {
      option
          .defaultText()
          .ifPresent(text -> assertThat(option.parser().apply(text)).as(option.key()).isNotNull());
      assertThat(option.doc()).as(option.key()).endsWith(".");
    }
  }
}
