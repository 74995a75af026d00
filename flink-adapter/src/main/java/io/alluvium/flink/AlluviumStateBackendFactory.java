package io.alluvium.flink;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.StateBackendFactory;

/**
 * What {@code state.backend.type} names: {@code io.alluvium.flink.AlluviumStateBackendFactory}.
 * Stateless.
 */
public final class AlluviumStateBackendFactory
    implements StateBackendFactory<AlluviumStateBackend> {

  @Override
  public AlluviumStateBackend createFromConfig(ReadableConfig config, ClassLoader classLoader) {
    return new AlluviumStateBackend().configure(config, classLoader);
  }
}
