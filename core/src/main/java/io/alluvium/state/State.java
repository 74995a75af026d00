package io.alluvium.state;

/**
 * A named state of an operator. It refers to the backend's current key and, if it has namespaces,
 * to the namespace selected last. Confined to the task thread. Throws {@code CLOSED} after the
 * backend was closed.
 */
public sealed interface State permits ValueState, ListState, MapState, AppendingState {

  /** Removes the state of the current key and namespace. */
  void clear();
}
