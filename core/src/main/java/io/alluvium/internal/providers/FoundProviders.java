package io.alluvium.internal.providers;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds providers with two class loaders: that of the thread, which knows what an application
 * brings, and that of this library, because the thread may belong to something else (a pool of an
 * application server, a native thread). Stateless.
 */
public final class FoundProviders {

  private static final Logger LOG = LoggerFactory.getLogger(FoundProviders.class);

  /** Of one look-up; an iterator may fail for ever. */
  private static final int MAX_FAILURES = 100;

  private FoundProviders() {}

  /** Every provider that either loader knows, each class once, those of the thread's first. */
  public static <S> List<S> of(Class<S> service) {
    Set<Class<?>> types = new HashSet<>();
    List<S> found = new ArrayList<>();
    @Nullable ClassLoader context = Thread.currentThread().getContextClassLoader();
    ClassLoader own = FoundProviders.class.getClassLoader();
    if (context != null && !context.equals(own)) {
      addForeign(ServiceLoader.load(service, context).iterator(), types, found);
    }
    for (S provider : ServiceLoader.load(service, own)) {
      add(provider, types, found);
    }
    return List.copyOf(found);
  }

  /**
   * The thread's loader may know another copy of this library, whose providers are none of this
   * one's: they are passed over, and with them whatever else it cannot load.
   */
  private static <S> void addForeign(Iterator<S> providers, Set<Class<?>> types, List<S> found) {
    int failures = 0;
    while (failures < MAX_FAILURES) {
      try {
        if (!providers.hasNext()) {
          return;
        }
        add(providers.next(), types, found);
      } catch (ServiceConfigurationError | LinkageError e) {
        failures++;
        LOG.debug("passed over a provider of the thread's class loader: {}", e.toString());
      }
    }
  }

  private static <S> void add(S provider, Set<Class<?>> types, List<S> found) {
    if (types.add(provider.getClass())) {
      found.add(provider);
    }
  }
}
