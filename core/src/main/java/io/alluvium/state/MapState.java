package io.alluvium.state;

import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A map from user keys to values per key and namespace; each entry is stored by itself. */
public non-sealed interface MapState<UK, UV> extends State {

  /** The value of a user key, or {@code null} when there is none. */
  @Nullable UV get(UK userKey);

  void put(UK userKey, UV value);

  void putAll(Map<UK, UV> entries);

  void remove(UK userKey);

  boolean contains(UK userKey);

  boolean isEmpty();

  /**
   * The entries in the order of their serialized user keys, as they were when the iterator was
   * made; changes made meanwhile neither disturb nor show. {@code remove()} removes the entry from
   * the state.
   */
  Iterator<Map.Entry<UK, UV>> iterator();
}
