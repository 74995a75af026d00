package io.alluvium.internal.materialize;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.internal.materialize.Bases.Attempt;
import io.alluvium.internal.materialize.Bases.Base;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.TableFile;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BasesTest {

  private static final KeyGroupRange RANGE = new KeyGroupRange(0, 8);
  private final Bases bases = new Bases("test-1", RANGE, Optional.of(new Base(0, List.of())));

  @Test
  void bind_beforeAnyMaterialization_givesTheRestoredBase() {
    assertThat(bases.bind(7)).contains(new Base(0, List.of()));
  }

  /**
   * The published bound lags (T1); only the end of a checkpoint after the snapshot is an upper
   * bound.
   */
  @Test
  void bind_afterTheSnapshotReturned_notesItsEndAsContainedUpTo() {
    Attempt attempt = bases.begin(3);
    bases.returned(attempt);
    bases.durable(attempt, List.of(file(1)));

    Materialization bound = materialization(bases.bind(9));

    assertThat(bound.position()).isEqualTo(3);
    assertThat(bound.containedUpTo()).isEqualTo(9);
  }

  @Test
  void bind_whileTheSnapshotIsTaken_givesTheBaseBefore() {
    Attempt attempt = bases.begin(3);

    assertThat(bases.bind(5)).contains(new Base(0, List.of()));

    bases.returned(attempt);
    bases.durable(attempt, List.of(file(1)));
    assertThat(materialization(bases.bind(6)).containedUpTo()).isEqualTo(6);
  }

  @Test
  void durable_afterContainedUpToWasNoted_becomesTheBaseAtOnce() {
    Attempt attempt = bases.begin(3);
    bases.returned(attempt);
    assertThat(bases.bind(5)).contains(new Base(0, List.of()));

    bases.durable(attempt, List.of(file(1)));

    assertThat(materialization(bases.bind(8)).containedUpTo()).isEqualTo(5);
  }

  /** A job may have no checkpoints for long. */
  @Test
  void durable_again_letsGoOfTheOneBefore() {
    for (int i = 1; i <= 3; i++) {
      Attempt attempt = bases.begin(i);
      bases.returned(attempt);
      bases.durable(attempt, List.of(file(i)));
      assertThat(bases.liveBlobs()).containsExactly(file(i).blob());
      assertThat(bases.newestPosition(0)).isEqualTo(i);
    }
    assertThat(materialization(bases.bind(9)).position()).isEqualTo(3);
  }

  /** The changelog below it may be gone. */
  @Test
  void failed_whatIsDurable_isNot() {
    Attempt attempt = bases.begin(3);
    bases.returned(attempt);
    bases.durable(attempt, List.of(file(1)));
    bases.failed(attempt);

    assertThat(materialization(bases.bind(9)).position()).isEqualTo(3);
  }

  @Test
  void failed_attempt_isNeverBound() {
    Attempt attempt = bases.begin(3);
    bases.returned(attempt);
    bases.failed(attempt);

    assertThat(bases.bind(5)).contains(new Base(0, List.of()));
    assertThat(bases.newestPosition(0)).isZero();
  }

  @Test
  void bind_ofTwoDurableAttempts_givesTheNewer() {
    for (int i = 1; i <= 2; i++) {
      Attempt attempt = bases.begin(i);
      bases.returned(attempt);
      bases.durable(attempt, List.of(file(i)));
    }

    assertThat(materialization(bases.bind(5)).files()).containsExactly(file(2));
    assertThat(bases.liveBlobs()).containsExactly(file(2).blob());
  }

  @Test
  void newestPosition_countsADurableAttemptThatNobodyBoundYet() {
    Attempt attempt = bases.begin(3);
    bases.returned(attempt);
    bases.durable(attempt, List.of(file(1)));

    assertThat(bases.newestPosition(0)).isEqualTo(3);
    assertThat(bases.liveBlobs()).containsExactly(file(1).blob());
  }

  @Test
  void bind_afterADetachedRestore_givesNothingUntilAnOwnMaterialization() {
    Bases detached = new Bases("test-1", RANGE, Optional.empty());
    assertThat(detached.bind(4)).isEmpty();

    detached.exact(4, List.of(file(1)));

    assertThat(materialization(detached.bind(6)).position()).isEqualTo(4);
  }

  /** A background run that began before the task thread took a snapshot itself, and ended after. */
  @Test
  void durable_afterAnExactBaseOvertookIt_isNeverBound() {
    Bases detached = new Bases("test-1", RANGE, Optional.empty());
    Attempt attempt = detached.begin(3);
    assertThat(detached.bind(5)).isEmpty();
    detached.exact(5, List.of(file(1)));
    detached.returned(attempt);
    detached.durable(attempt, List.of(file(2)));

    assertThat(materialization(detached.bind(8)).position()).isEqualTo(5);
    assertThat(detached.newestPosition(0)).isEqualTo(5);
    assertThat(detached.liveBlobs()).containsExactly(file(1).blob());
  }

  private static Materialization materialization(Optional<Base> base) {
    return base.orElseThrow().parts().get(0).materialization().orElseThrow();
  }

  private static TableFile file(int number) {
    BlobName blob = new BlobName(new Incarnation(1, 2), number, BlobName.Kind.TABLE);
    return new TableFile("f" + number, blob, 10, number, true);
  }
}
