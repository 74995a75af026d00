package io.alluvium.internal.backend;

import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.CoreOptions;
import io.alluvium.config.Option;
import io.alluvium.internal.blob.BlobStores;
import io.alluvium.internal.providers.FoundProviders;
import io.alluvium.internal.settings.Artifacts;
import io.alluvium.internal.settings.Suggestion;
import io.alluvium.spi.BlobStoreProvider;
import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.spi.TableProvider;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

/** What the class path offers. Immutable. */
public final class Providers {

  private final Map<String, TableProvider> tables = new TreeMap<>();
  private final Map<String, ChangelogStorageProvider> logs = new TreeMap<>();
  private final List<BlobStoreProvider> stores = BlobStores.providers();
  private final Map<String, Option<?>> options = new TreeMap<>();

  /** Providers whose library is missing, and what to say of that; told only who asks for them. */
  private final Map<String, String> broken = new TreeMap<>();

  private Providers() {
    FoundProviders.of(TableProvider.class)
        .forEach(table -> tables.putIfAbsent(table.name(), table));
    FoundProviders.of(ChangelogStorageProvider.class)
        .forEach(log -> logs.putIfAbsent(log.name(), log));
    CoreOptions.ALL.forEach(option -> options.put(option.key(), option));
    tables.forEach((name, provider) -> add(name, provider::options));
    logs.forEach((name, provider) -> add(name, provider::options));
    stores.forEach(store -> add(store.scheme(), store::options));
  }

  private void add(String name, Supplier<List<Option<?>>> provider) {
    try {
      provider.get().forEach(option -> options.put(option.key(), option));
    } catch (LinkageError e) {
      broken.put(
          name,
          "needs what is not on the class path: "
              + e
              + "; add "
              + (name.equals("rocksdb") ? "'org.rocksdb:rocksdbjni'" : "the jar that holds it"));
    }
  }

  public static Providers find() {
    return new Providers();
  }

  /** Every option that something on the class path reads, by key ascending, each once. */
  public List<Option<?>> options() {
    return List.copyOf(options.values());
  }

  /**
   * Checks settings, also against what the class path offers.
   *
   * @throws StateBackendException {@code INVALID}, with all problems at once, one a line
   */
  Configuration configure(Map<String, String> settings) {
    Set<String> schemes = new TreeSet<>();
    stores.forEach(store -> schemes.add(store.scheme()));
    List<Option<?>> checked = new ArrayList<>(options());
    checked.replaceAll(
        option -> {
          if (option.equals(CoreOptions.TABLE)) {
            return CoreOptions.TABLE.checkedBy(
                name -> requireOne(name.trim(), tables.keySet(), Artifacts.TABLES));
          } else if (option.equals(CoreOptions.CHANGELOG_STORAGE)) {
            return CoreOptions.CHANGELOG_STORAGE.checkedBy(
                name -> requireOne(name.trim(), logs.keySet(), Artifacts.LOGS));
          } else if (option.equals(CoreOptions.CHECKPOINT_DIRECTORY)) {
            return CoreOptions.CHECKPOINT_DIRECTORY.checkedBy(uri -> requireScheme(uri, schemes));
          } else if (option.equals(CoreOptions.CHANGELOG_DIRECTORY)) {
            return CoreOptions.CHANGELOG_DIRECTORY.checkedBy(uri -> requireScheme(uri, schemes));
          }
          return option;
        });
    Set<String> present = new TreeSet<>(schemes);
    present.addAll(tables.keySet());
    present.addAll(logs.keySet());
    return Configuration.of(settings, checked, key -> whyUnknown(key, present));
  }

  /** That an option is unknown because what reads it cannot be asked, or nothing. */
  private String whyUnknown(String option, Set<String> present) {
    return Artifacts.readerOf(option)
        .map(
            reader -> {
              String why =
                  !present.contains(reader)
                      ? "is not on the class path" + Artifacts.remedy(reader)
                      : broken.getOrDefault(reader, "");
              return why.isEmpty() ? "" : "; '" + reader + "' reads it and " + why;
            })
        .orElse("");
  }

  private void requireOne(String name, Set<String> offered, Set<String> ours) {
    String problem = problemOf(name, offered, ours);
    if (!problem.isEmpty()) {
      throw new IllegalArgumentException(problem);
    }
  }

  private void requireScheme(String uri, Set<String> offered) {
    BlobStores.scheme(uri)
        .ifPresent(
            scheme -> {
              String problem = problemOf(scheme, offered, Artifacts.STORES);
              if (!problem.isEmpty()) {
                throw new IllegalArgumentException(
                    "has the scheme '" + scheme + "', which " + problem);
              }
            });
  }

  /**
   * Why a name cannot be used, as the end of the sentence "the value '...' of '...' ..."; empty
   * when it can.
   *
   * @param ours what Alluvium would bring, so that a name is not taken for a mistyped one
   */
  private String problemOf(String name, Set<String> offered, Set<String> ours) {
    if (offered.contains(name)) {
      return broken.getOrDefault(name, "");
    }
    if (ours.contains(name)) {
      return "is not on the class path, which offers "
          + (offered.isEmpty() ? "none" : String.join(", ", offered))
          + Artifacts.remedy(name);
    }
    Set<String> known = new TreeSet<>(offered);
    known.addAll(ours);
    return "is unknown; known are " + String.join(", ", known) + Suggestion.of(name, known);
  }

  TableProvider table(Configuration configuration) {
    return named(tables, configuration, CoreOptions.TABLE, Artifacts.TABLES);
  }

  ChangelogStorageProvider log(Configuration configuration) {
    return named(logs, configuration, CoreOptions.CHANGELOG_STORAGE, Artifacts.LOGS);
  }

  /** Why the log of a configuration cannot be used, as {@link #problemOf}. */
  String problemOfLog(Configuration configuration) {
    String name = configuration.get(CoreOptions.CHANGELOG_STORAGE).trim();
    return problemOf(name, logs.keySet(), Artifacts.LOGS);
  }

  TableProvider tableOfFormat(String format) {
    Map<String, TableProvider> byFormat = new LinkedHashMap<>();
    tables.values().forEach(table -> byFormat.put(table.format(), table));
    TableProvider found = byFormat.get(format);
    if (found == null) {
      throw StateBackendException.incompatible(
          "the checkpoint holds table files of format '"
              + format
              + "'; the tables on the class path read "
              + String.join(", ", byFormat.keySet()));
    }
    return found;
  }

  private <P> P named(
      Map<String, P> providers,
      Configuration configuration,
      Option<String> option,
      Set<String> ours) {
    String name = configuration.get(option).trim();
    String problem = problemOf(name, providers.keySet(), ours);
    P found = providers.get(name);
    if (found == null || !problem.isEmpty()) {
      throw StateBackendException.invalid(
          "the value '" + name + "' of '" + option.key() + "' " + problem);
    }
    return found;
  }
}
