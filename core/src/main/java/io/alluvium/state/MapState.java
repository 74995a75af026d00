package io.alluvium.state;

import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A map from user keys to values per key and namespace; each entry is stored separately. */
public non-sealed interface MapState<UK, UV> extends State {

  /** The value of a user key, or {@code null} if there is none. */
  @Nullable UV get(UK userKey);

  void put(UK userKey, UV value);

  void putAll(Map<UK, UV> entries);

  void remove(UK userKey);

  boolean contains(UK userKey);

  boolean isEmpty();

  /**
   * Iterates over the entries as of this call, in the order of their serialized user keys. Later
   * changes are not visible to the iterator. {@code remove()} removes the entry from the state.
   */
  Iterator<Map.Entry<UK, UV>> iterator();
}
