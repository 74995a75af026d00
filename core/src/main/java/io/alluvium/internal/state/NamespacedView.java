package io.alluvium.internal.state;

import io.alluvium.serializer.Serializer;
import io.alluvium.state.Namespaced;
import io.alluvium.state.State;

/** A state that is seen at the namespace selected last. Confined to the task thread. */
final class NamespacedView<N, S extends State> implements Namespaced<N, S> {

  private final Codec<N> namespaces;
  private final StateView view;
  private final S state;

  /**
   * @param view the same object as {@code state}
   */
  NamespacedView(Serializer<N> serializer, StateView view, S state) {
    this.namespaces = Codec.ofAddresses(serializer, "a namespace of state '" + view.name + "'");
    this.view = view;
    this.state = state;
  }

  @Override
  public S in(N namespace) {
    view.select(namespaces, namespace);
    return state;
  }

  StateView view() {
    return view;
  }

  Codec<N> namespaces() {
    return namespaces;
  }
}
