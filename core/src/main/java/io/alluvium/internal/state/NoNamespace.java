package io.alluvium.internal.state;

import io.alluvium.serializer.SerializerSnapshot;

/** How a registration says that a state has no namespaces: its namespace part is empty. */
final class NoNamespace {

  static final SerializerSnapshot SNAPSHOT = new SerializerSnapshot("none", 1, new byte[0]);

  private NoNamespace() {}
}
