package io.alluvium;

import io.alluvium.internal.arguments.Arguments;
import io.alluvium.serializer.SerializerSnapshot;
import java.util.List;

/**
 * A state as a checkpoint knows it. Immutable.
 *
 * @param name unique within the backend
 * @param id derived from the name, part of every key of the state
 * @param namespace format of its namespaces
 * @param values formats of its values: one for value, list (the element), reducing and aggregating
 *     (the accumulator) state; two for map state (user key, value); none for timers
 */
public record StateRegistration(
    String name,
    int id,
    StateKind kind,
    SerializerSnapshot namespace,
    List<SerializerSnapshot> values) {

  public StateRegistration {
    Arguments.check(name, "name");
    Arguments.check(kind, "kind");
    Arguments.check(namespace, "namespace");
    values = Arguments.copy(values, "values");
  }
}
