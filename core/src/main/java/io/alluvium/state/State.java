package io.alluvium.state;

/**
 * A named state of an operator, seen at the backend's current key (and, where it has namespaces, at
 * the namespace that was selected last). Confined to the task thread; used after the backend was
 * closed it throws {@code CLOSED}.
 */
public sealed interface State permits ValueState, ListState, MapState, AppendingState {

  /** Removes what is stored at the current key and namespace. */
  void clear();
}
