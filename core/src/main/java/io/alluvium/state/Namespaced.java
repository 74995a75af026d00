package io.alluvium.state;

/**
 * A state with namespaces, for example one value per key and window. Confined to the task thread.
 *
 * @param <N> type of the namespaces
 * @param <S> kind of state in each namespace
 */
public interface Namespaced<N, S extends State> {

  /**
   * Selects a namespace and returns its state. The same object is returned for every namespace and
   * refers to the namespace selected last. Finish with one namespace before selecting another.
   */
  S in(N namespace);
}
