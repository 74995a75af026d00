package io.alluvium.internal.catalog;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.spi.Incarnation;
import java.time.Instant;
import java.util.List;

/** What stands in a slot of the chain. Immutable. */
sealed interface SlotRecord {

  Header header();

  /**
   * What both kinds say.
   *
   * @param slot where it stands, the same number as in the blob's name
   * @param follows a slot below; between the two stand takeover records and nothing else; 0 when
   *     nothing else stands below at all
   * @param createdAt by the writer's clock, in whole milliseconds; shown to people only
   */
  record Header(
      String job,
      long slot,
      long follows,
      Incarnation writer,
      String libraryVersion,
      Instant createdAt) {}

  /** An incarnation became, or tried to become, the owner. */
  record Takeover(Header header) implements SlotRecord {}

  /**
   * A confirmed checkpoint.
   *
   * @param givenUp slots below, ascending, that cannot be read and that somebody decided to go on
   *     without; they are kept, because they may fence an earlier owner, but are no news to anybody
   */
  record Manifest(
      Header header,
      long checkpointId,
      List<CheckpointHandle> handles,
      byte[] metadata,
      List<Long> givenUp)
      implements SlotRecord {

    public Manifest {
      givenUp = List.copyOf(givenUp);
    }

    Checkpoint checkpoint() {
      return new Checkpoint(
          checkpointId,
          header.slot(),
          header.job(),
          header.writer(),
          header.libraryVersion(),
          header.createdAt(),
          handles,
          metadata);
    }
  }
}
