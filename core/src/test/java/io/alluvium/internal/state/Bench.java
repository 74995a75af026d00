package io.alluvium.internal.state;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateRegistration;
import io.alluvium.internal.backend.KeyContext;
import io.alluvium.internal.backend.WritePath;
import java.util.List;

/** A registry over an in-memory table and changelog. */
final class Bench {

  static final int MAX_PARALLELISM = 16;

  final MemoryTable table;
  final MemoryChangelog changelog = new MemoryChangelog();
  final WritePath writePath;
  final KeyContext<String> keys =
      new KeyContext<>(Texts.TEXT, MAX_PARALLELISM, new KeyGroupRange(0, MAX_PARALLELISM));
  final StateRegistry<String> registry;

  Bench() {
    this(new MemoryTable(), List.of());
  }

  Bench(MemoryTable table, List<StateRegistration> restored) {
    this.table = table;
    this.writePath = new WritePath(table, changelog);
    this.registry = new StateRegistry<>(writePath, keys, restored);
  }

  /** What a restart would see. */
  Bench restored() {
    return new Bench(table, registry.registrations());
  }

  Bench key(String key) {
    keys.setCurrentKey(key);
    return this;
  }
}
