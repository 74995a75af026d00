package io.alluvium.cli;

import io.alluvium.config.Option;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes the reference of all options, {@code docs/configuration.md}, from the options themselves.
 */
final class ConfigurationPage {

  private static final String INTRODUCTION =
      """
      # Configuration

      A properties file, `key = value` in each line, or a `Map` from the same keys. This page is generated from the code; a test
      compares the two (`mvn -pl cli -am verify -Dtest=ConfigurationPageTest -Dalluvium.write=true` writes it anew).

      Durations are written `300ms`, `2s`, `10m`, `10 min`, `1h`; sizes `512`, `64 kb`, `5 mb`, `1 gb`, in powers of 1024. All
      problems of a configuration are reported at once. An unknown key that starts with `state.`, `dstl.`, `alluvium.` or `s3.` is
      an error that suggests the nearest known one; other keys are left alone.

      On the command line: `--config FILE` and `--set key=value`, which may be repeated and wins over the file.
      """;

  /** Sections by the start of the key; the first that matches counts. */
  private static final Map<String, String> SECTIONS = new LinkedHashMap<>();

  static {
    SECTIONS.put("state.checkpoints.", "Checkpoints");
    SECTIONS.put("alluvium.checkpoint.", "Checkpoints");
    SECTIONS.put("state.backend.changelog.", "Changelog and materialization");
    SECTIONS.put("alluvium.materialize.", "Changelog and materialization");
    SECTIONS.put("dstl.", "Changelog storage");
    SECTIONS.put("alluvium.restore.", "Restore");
    SECTIONS.put("state.backend.rocksdb.", "RocksDB");
    SECTIONS.put("s3.", "Object storage");
    SECTIONS.put("", "Table");
  }

  private ConfigurationPage() {}

  static String of(List<Option<?>> options) {
    Map<String, List<Option<?>>> sections = new LinkedHashMap<>();
    sections.put("Table", new ArrayList<>());
    SECTIONS.values().forEach(title -> sections.putIfAbsent(title, new ArrayList<>()));
    for (Option<?> option : options) {
      sections.getOrDefault(sectionOf(option), new ArrayList<>()).add(option);
    }
    StringBuilder page = new StringBuilder(INTRODUCTION);
    sections.forEach(
        (title, members) -> {
          if (!members.isEmpty()) {
            page.append("\n## ").append(title).append("\n\n");
            page.append("| key | default | values | what it does |\n|---|---|---|---|\n");
            members.forEach(option -> append(page, option));
          }
        });
    return page.toString();
  }

  private static String sectionOf(Option<?> option) {
    return SECTIONS.entrySet().stream()
        .filter(section -> option.key().startsWith(section.getKey()))
        .map(Map.Entry::getValue)
        .findFirst()
        .orElseThrow();
  }

  private static void append(StringBuilder page, Option<?> option) {
    String standard =
        option.required()
            ? "required"
            : option.defaultText().map(ConfigurationPage::code).orElse("");
    page.append("| `")
        .append(option.key())
        .append("` | ")
        .append(standard)
        .append(" | ")
        .append(escape(option.range()))
        .append(" | ")
        .append(escape(option.doc()))
        .append(" |\n");
  }

  private static String code(String text) {
    return text.isEmpty() ? "empty" : "`" + text + "`";
  }

  private static String escape(String text) {
    return text.replace("|", "\\|").replace("\n", " ");
  }
}
