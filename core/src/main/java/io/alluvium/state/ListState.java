package io.alluvium.state;

import java.util.List;

/** A list of elements per key and namespace; appending does not read the list. */
public non-sealed interface ListState<E> extends State {

  /** A copy of the elements in order; empty when there are none. */
  List<E> get();

  void add(E element);

  void addAll(List<E> elements);

  /** Replaces the whole list; an empty list is the same as {@link #clear()}. */
  void update(List<E> elements);
}
