package io.alluvium.internal.backend;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
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

  private Providers() {
    FoundProviders.of(TableProvider.class)
        .forEach(table -> tables.putIfAbsent(table.name(), table));
    FoundProviders.of(ChangelogStorageProvider.class)
        .forEach(log -> logs.putIfAbsent(log.name(), log));
  }

  public static Providers find() {
    return new Providers();
  }

  /** Every option that something on the class path reads, by key ascending, each once. */
  public List<Option<?>> options() {
    Map<String, Option<?>> options = new TreeMap<>();
    List<Option<?>> all = new ArrayList<>(CoreOptions.ALL);
    tables.forEach((name, provider) -> all.addAll(options(name, provider::options)));
    logs.forEach((name, provider) -> all.addAll(options(name, provider::options)));
    stores.forEach(store -> all.addAll(options(store.scheme(), store::options)));
    all.forEach(option -> options.put(option.key(), option));
    return List.copyOf(options.values());
  }

  static List<Option<?>> options(String name, Supplier<List<Option<?>>> provider) {
    try {
      return provider.get();
    } catch (LinkageError e) {
      throw StateBackendException.of(
          Kind.INVALID,
          "what '"
              + name
              + "' needs is not on the class path: "
              + e
              + "; add "
              + (name.equals("rocksdb") ? "'org.rocksdb:rocksdbjni'" : "the jar that holds it"),
          e);
    }
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
            return CoreOptions.TABLE.checkedBy(name -> requireOne(name.trim(), tables.keySet()));
          } else if (option.equals(CoreOptions.CHANGELOG_STORAGE)) {
            return CoreOptions.CHANGELOG_STORAGE.checkedBy(
                name -> requireOne(name.trim(), logs.keySet()));
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
    return Configuration.of(settings, checked, key -> Artifacts.missingFor(key, present));
  }

  private static void requireOne(String name, Set<String> offered) {
    if (!offered.contains(name)) {
      throw new IllegalArgumentException(notThere(name, offered));
    }
  }

  private static void requireScheme(String uri, Set<String> offered) {
    BlobStores.scheme(uri)
        .filter(scheme -> !offered.contains(scheme))
        .ifPresent(
            scheme -> {
              throw new IllegalArgumentException(
                  "has the scheme '" + scheme + "', which " + notThere(scheme, offered));
            });
  }

  /** Completes the sentence "the value '...' of '...' ...". */
  private static String notThere(String name, Set<String> offered) {
    String remedy = Artifacts.remedy(name);
    return "is not on the class path, which offers "
        + (offered.isEmpty() ? "none" : String.join(", ", offered))
        + (remedy.isEmpty() ? Suggestion.of(name, offered) : remedy);
  }

  TableProvider table(Configuration configuration) {
    return named(tables, configuration, CoreOptions.TABLE);
  }

  ChangelogStorageProvider log(Configuration configuration) {
    return named(logs, configuration, CoreOptions.CHANGELOG_STORAGE);
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

  private static <P> P named(
      Map<String, P> providers, Configuration configuration, Option<String> option) {
    String name = configuration.get(option).trim();
    P found = providers.get(name);
    if (found == null) {
      throw StateBackendException.invalid(
          "the value '"
              + name
              + "' of '"
              + option.key()
              + "' "
              + notThere(name, providers.keySet()));
    }
    return found;
  }
}
