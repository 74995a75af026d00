package io.alluvium.cli;

import io.alluvium.cli.input.IoMessages;
import io.alluvium.cli.input.JobException;
import io.alluvium.config.Configuration;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Settings of the state backend, from a file and from the command line. Confined to one thread. */
final class BackendOptions {

  @Option(
      names = "--config",
      paramLabel = "FILE",
      description = "Properties file with settings of the state backend (docs/configuration.md).")
  private @Nullable Path config;

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description = "One setting of the state backend, before those of the file. May be repeated.")
  private Map<String, String> settings = new LinkedHashMap<>();

  /** All settings given, by key. */
  Map<String, String> read() {
    Map<String, String> all = new LinkedHashMap<>();
    if (config != null) {
      Properties properties = new Properties();
      try (Reader reader = Files.newBufferedReader(config, StandardCharsets.UTF_8)) {
        properties.load(reader);
      } catch (IOException | IllegalArgumentException e) {
        throw new JobException(
            "the configuration file '" + config + "' cannot be read: " + IoMessages.of(e), e);
      }
      properties.stringPropertyNames().forEach(key -> all.put(key, properties.getProperty(key)));
    }
    for (Map.Entry<String, String> setting : settings.entrySet()) {
      String key = setting.getKey();
      if (Configuration.NAME_SPACES.stream().noneMatch(key::startsWith)) {
        throw JobException.usage(
            "unknown option '"
                + key
                + "' in --set; options start with "
                + String.join(", ", Configuration.NAME_SPACES));
      }
      all.put(key, setting.getValue());
    }
    return all;
  }
}
