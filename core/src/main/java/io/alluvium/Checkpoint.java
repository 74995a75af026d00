package io.alluvium;

import io.alluvium.internal.arguments.Arguments;
import io.alluvium.spi.Incarnation;
import java.time.Instant;
import java.util.List;

/**
 * A stored checkpoint of a job, as its manifest tells it. Immutable.
 *
 * @param id increases along the chain
 * @param slot where in the chain its manifest stands
 * @param job name of the job
 * @param writer incarnation of the owner that wrote it
 * @param libraryVersion of the Alluvium that wrote it
 * @param createdAt by the writer's clock; shown to people only
 * @param handles one per subtask
 * @param metadata the caller's own bytes
 */
public record Checkpoint(
    long id,
    long slot,
    String job,
    Incarnation writer,
    String libraryVersion,
    Instant createdAt,
    List<CheckpointHandle> handles,
    byte[] metadata) {

  public Checkpoint {
    Arguments.check(job, "job");
    Arguments.check(writer, "writer");
    Arguments.check(libraryVersion, "libraryVersion");
    Arguments.check(createdAt, "createdAt");
    handles = Arguments.copy(handles, "handles");
    metadata = Arguments.notNull(metadata, "metadata").clone();
  }

  @Override
  public byte[] metadata() {
    return metadata.clone();
  }
}
