package io.alluvium.internal.backend;

import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.CoreOptions;
import io.alluvium.config.Option;
import io.alluvium.internal.blob.BlobStores;
import io.alluvium.spi.BlobStoreProvider;
import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.spi.TableProvider;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;

/** What the class path offers. Immutable. */
public final class Providers {

  private final Map<String, TableProvider> tables = new TreeMap<>();
  private final Map<String, ChangelogStorageProvider> logs = new TreeMap<>();
  private final List<BlobStoreProvider> stores = BlobStores.providers();

  private Providers() {
    ServiceLoader.load(TableProvider.class).forEach(table -> tables.put(table.name(), table));
    ServiceLoader.load(ChangelogStorageProvider.class).forEach(log -> logs.put(log.name(), log));
  }

  public static Providers find() {
    return new Providers();
  }

  /** Every option that something on the class path reads, by key ascending, each once. */
  public List<Option<?>> options() {
    Map<String, Option<?>> options = new TreeMap<>();
    List<Option<?>> all = new ArrayList<>(CoreOptions.ALL);
    tables.values().forEach(provider -> all.addAll(provider.options()));
    logs.values().forEach(provider -> all.addAll(provider.options()));
    stores.forEach(provider -> all.addAll(provider.options()));
    all.forEach(option -> options.put(option.key(), option));
    return List.copyOf(options.values());
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
              + "' is not on the class path, which offers "
              + (providers.isEmpty() ? "none" : String.join(", ", providers.keySet()))
              + "; add the module that brings it");
    }
    return found;
  }
}
