package io.alluvium.testkit.owner;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import java.util.List;
import java.util.Optional;

/** The state of a job that an {@link Owner} runs. Confined to the owner's thread. */
public interface OwnedState extends AutoCloseable {

  CheckpointCatalog catalog();

  /** Opens the state of a checkpoint, or an empty state. */
  void restore(Optional<Checkpoint> checkpoint);

  /** Applies the next piece of the input. */
  void apply(long offset);

  /** Number of applied pieces, according to the state itself. */
  long applied();

  /** Takes a checkpoint and waits until it is durable. */
  List<CheckpointHandle> checkpoint(long id);

  void confirm(long id);

  void abort(long id);

  @Override
  void close();
}
