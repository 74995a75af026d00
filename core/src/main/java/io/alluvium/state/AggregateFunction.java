package io.alluvium.state;

/** Folds values of type {@code IN} into an accumulator. Stateless. */
public interface AggregateFunction<IN, ACC, OUT> {

  ACC createAccumulator();

  /** Adds a value; may modify and return {@code accumulator}. */
  ACC add(IN value, ACC accumulator);

  OUT result(ACC accumulator);
}
