package io.alluvium.state;

/**
 * A state with namespaces: a window operator keeps one value per key and window. Confined to the
 * task thread.
 *
 * @param <N> type of the namespaces
 * @param <S> kind of state in each
 */
public interface Namespaced<N, S extends State> {

  /** Selects a namespace and gives the state seen there; the same object for every namespace. */
  S in(N namespace);
}
