package io.alluvium.state;

/** Folds values of type {@code IN} into an accumulator. Stateless. */
public interface AggregateFunction<IN, ACC, OUT> {

  ACC createAccumulator();

  /** May change and return {@code accumulator}. */
  ACC add(IN value, ACC accumulator);

  OUT result(ACC accumulator);
}
