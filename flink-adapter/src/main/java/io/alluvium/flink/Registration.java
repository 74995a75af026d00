package io.alluvium.flink;

import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.jspecify.annotations.Nullable;

/**
 * A state as its descriptor asked for it, reconciled with what was restored. Immutable.
 *
 * @param idBytes the state's id as it stands in a key
 * @param <V> what Flink calls the state's value: the list, the map, the accumulator
 */
record Registration<N, V>(
    StateDescriptor<?, V> descriptor,
    byte[] idBytes,
    RegisteredKeyValueStateBackendMetaInfo<N, V> info) {

  String name() {
    return info.getName();
  }

  @Nullable V defaultValue() {
    return descriptor.getDefaultValue();
  }
}
