package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.internal.catalog.BlobLedger.Fresh;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Incarnation;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each state of a name, one at a time. */
final class BlobLedgerTest {

  private final BlobLedger ledger = new BlobLedger();
  private final Set<BlobName> live = new HashSet<>();

  @BeforeEach
  void start() {
    ledger.start(Incarnation.random(new Random(1)));
    var unused = ledger.register(() -> Set.copyOf(live));
  }

  private Set<BlobName> garbage() {
    return ledger.plan(Fresh.SPARED, List::of);
  }

  /** A name that was in the live set of its backend, and is not any more. */
  private BlobName given() {
    BlobName name = ledger.next(BlobName.Kind.LOG);
    live.add(name);
    assertThat(garbage()).doesNotContain(name);
    live.remove(name);
    return name;
  }

  @Test
  void plan_whatNobodyNeeds_isGarbageUntilItIsForgotten() {
    BlobName name = given();
    assertThat(garbage()).containsExactly(name);
    assertThat(garbage()).containsExactly(name);
    ledger.forget(Set.of(name));
    assertThat(garbage()).isEmpty();
  }

  @Test
  void plan_freshName_isSparedOnceWhileThereAreLiveSets() {
    BlobName name = ledger.next(BlobName.Kind.LOG);
    assertThat(ledger.plan(Fresh.COLLECTED, List::of)).isEmpty();
    live.add(name);
    assertThat(garbage()).isEmpty();
    live.clear();
    assertThat(garbage()).containsExactly(name);
  }

  /** As a segment of the log between two checkpoints with several materializations. */
  @Test
  void plan_nameThatWasNeverAsked_isGarbageTheSecondTime() {
    BlobName name = ledger.next(BlobName.Kind.LOG);
    live.add(name);
    live.remove(name);
    assertThat(garbage()).isEmpty();
    assertThat(garbage()).containsExactly(name);
  }

  @Test
  void plan_namesOfARetainedManifest_areKept() {
    BlobName name = given();
    assertThat(ledger.plan(Fresh.SPARED, () -> List.of(Set.of(name)))).isEmpty();
    assertThat(garbage()).containsExactly(name);
  }

  @Test
  void plan_whileItLooksThroughManifests_holdsUpNobodyWhoWantsAName() {
    given();
    Set<BlobName> namedMeanwhile = new HashSet<>();
    ledger.plan(
        Fresh.SPARED,
        () -> {
          if (namedMeanwhile.isEmpty()) {
            namedMeanwhile.add(
                CompletableFuture.supplyAsync(() -> ledger.next(BlobName.Kind.LOG))
                    .orTimeout(30, TimeUnit.SECONDS)
                    .join());
          }
          return List.of();
        });
    assertThat(namedMeanwhile).hasSize(1);
  }

  /** Its commit was not pinned yet at the first look, and is not pinned any more at the verdict. */
  @Test
  void plan_aNameThatAManifestNamesMeanwhile_isKept() {
    BlobName name = given();
    Iterator<List<Set<BlobName>>> looks =
        List.of(List.<Set<BlobName>>of(), List.of(Set.of(name))).iterator();
    assertThat(ledger.plan(Fresh.SPARED, looks::next)).isEmpty();
    assertThat(garbage()).containsExactly(name);
  }

  /** The backend has let go of it, and the manifest is not there yet. */
  @Test
  void plan_pinnedNames_areKeptUntilTheyAreUnpinned() {
    Set<BlobName> names = Set.of(given());
    ledger.pin(names);
    assertThat(garbage()).isEmpty();
    ledger.unpin(names);
    assertThat(garbage()).containsExactlyElementsOf(names);
  }

  @Test
  void pin_aNameThatIsGarbage_failsAndPinsNothing() {
    BlobName gone = given();
    BlobName kept = ledger.next(BlobName.Kind.LOG);
    live.add(kept);
    assertThat(garbage()).containsExactly(gone);
    live.clear();
    assertThatThrownBy(() -> ledger.pin(Set.of(kept, gone)))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("'" + gone + "', which was collected as garbage");
    assertThat(garbage()).containsExactlyInAnyOrder(kept, gone);
  }

  @Test
  void pin_aNameThatWasNeverHandedOut_fails() {
    BlobName other = new BlobName(ledger.incarnation(), 99, BlobName.Kind.LOG);
    assertThatThrownBy(() -> ledger.pin(Set.of(other)))
        .hasMessageContaining("was never handed out");
  }
}
