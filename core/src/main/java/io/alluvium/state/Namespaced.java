package io.alluvium.state;

/**
 * A state with namespaces: a window operator keeps one value per key and window. Confined to the
 * task thread.
 *
 * @param <N> type of the namespaces
 * @param <S> kind of state in each
 */
public interface Namespaced<N, S extends State> {

  /**
   * Selects a namespace and gives the state seen there. It is the same object for every namespace
   * and always stands in the one selected last: read from one namespace before selecting another.
   */
  S in(N namespace);
}
