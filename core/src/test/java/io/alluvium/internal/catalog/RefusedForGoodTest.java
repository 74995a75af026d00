package io.alluvium.internal.catalog;

import static io.alluvium.internal.catalog.SharedStore.slot;
import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlobName;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/**
 * Thousands of checkpoints, one a second, over a store that refuses one kind of request for good:
 * neither what the owner holds in memory nor what it asks of the store grows with its age.
 */
class RefusedForGoodTest {

  private static final int COMMITS = 2_000;

  /** Of the log that each checkpoint names. */
  private static final int TAIL = 20;

  private final SharedStore shared = new SharedStore();

  private record Half(long calls, int remembered) {}

  /** Runs half of the commits; what was asked of the store, and what is held at most. */
  private Half half(Owner owner, Deque<BlobName> tail, int from) {
    owner.store.clearCalls();
    int most = 0;
    for (int id = from; id < from + COMMITS / 2; id++) {
      tail.add(owner.upload());
      if (tail.size() > TAIL) {
        tail.remove();
      }
      Object unused = owner.commit(id, tail);
      owner.execution.runBackground();
      owner.execution.pass(Duration.ofSeconds(1));
      most = Math.max(most, owner.catalog.remembered());
    }
    return new Half(owner.store.calls().size(), most);
  }

  private void refused(Predicate<ControlledStore.Call> refused, int namesPerCommit) {
    Owner owner = shared.owner();
    owner.takeOver();
    owner.store.refuse(refused);
    Deque<BlobName> tail = new ArrayDeque<>();
    Half first = half(owner, tail, 1);
    Half second = half(owner, tail, 1 + COMMITS / 2);
    assertThat(second.calls)
        .as("requests of the second half, against %s of the first", first.calls)
        .isLessThanOrEqualTo(first.calls + TAIL)
        .isLessThanOrEqualTo(5L * COMMITS / 2);
    assertThat(second.remembered)
        .as("names and slots in memory, against %s in the first half", first.remembered)
        .isLessThanOrEqualTo(10 * TAIL + namesPerCommit * COMMITS);
    assertThat(owner.store.calls().stream().filter(refused).count())
        .as("refused requests of 1 000 seconds")
        .isLessThanOrEqualTo(6);
    owner.store.heal();
    owner.execution.pass(Duration.ofMinutes(10));
    tail.add(owner.upload());
    Object unused = owner.commit(COMMITS + 1, tail);
    owner.execution.runBackground();
    assertThat(shared.names()).as("blobs and slots left").hasSize(tail.size() + 2);
  }

  @Test
  void deletions() {
    refused(call -> call.op().equals("delete"), 2);
  }

  @Test
  void deletionOfSlots() {
    refused(call -> call.is("delete", "slots/"), 2);
  }

  @Test
  void deletionOfBlobs() {
    refused(call -> call.is("delete", "data/"), 1);
  }

  @Test
  void listOfUnfinishedUploads() {
    refused(call -> call.op().equals("deleteLeftovers"), 0);
  }

  @Test
  void listing() {
    refused(call -> call.is("list", "data/"), 0);
  }

  /**
   * A commit whose outcome is unknown stops a collection half-way, and its repetition lets it go
   * on: a manifest is deleted before what it names.
   */
  @Test
  void deletionOfSlots_stoppedHalfWay_noBlobGoesBeforeTheManifestThatNamesIt() {
    Owner owner = shared.owner();
    owner.takeOver();
    owner.store.refuse(call -> call.op().equals("delete"));
    owner.letGo(owner.upload());
    int commits = GarbageCollector.BATCH + 50;
    Map<String, String> named = new TreeMap<>();
    for (int id = 1; id <= commits; id++) {
      named.put(slot(id + 1), owner.commitOne(id).toString());
      owner.execution.pass(Duration.ofSeconds(1));
    }
    owner.store.heal();
    owner.execution.pass(Duration.ofMinutes(10));
    BlobName last = owner.upload();
    Runnable commit =
        () -> {
          Object unused = owner.commit(commits + 2, List.of(last));
        };
    owner.store.before(
        call -> call.is("delete", "slots/"),
        () -> {
          owner.store.failBefore(call -> call.op().equals("putIfAbsent"), 1_000);
          Expect.failure(Kind.UNAVAILABLE, commit::run, "unknown");
          owner.store.heal();
          // The collection looks at the time before it goes on to blobs, which failed before.
          owner.execution.whenAsked(commit);
        });
    Set<String> dangling = new TreeSet<>();
    owner.store.beforeEach(
        () -> {
          Set<String> names = new TreeSet<>(shared.names());
          named.forEach(
              (manifest, blob) -> {
                if (names.contains(manifest) && !names.contains(blob)) {
                  dangling.add(manifest);
                }
              });
        });
    owner.commitOne(commits + 1);
    owner.execution.pass(Duration.ofMinutes(10));
    BlobName newest = owner.commitOne(commits + 3);
    assertThat(dangling).as("manifests whose blob was gone").isEmpty();
    assertThat(shared.names()).containsExactly(newest.toString(), slot(1), slot(commits + 4));
  }

  /** More than is remembered: a listing finds the rest, once the store deletes again. */
  @Test
  void deletions_ofMoreThanIsRemembered_areMadeUpFor() {
    Owner owner = shared.owner();
    owner.takeOver();
    owner.store.refuse(call -> call.op().equals("delete"));
    BlobName last = owner.commitOne(1);
    int count = GarbageCollector.MAX_REMEMBERED / 5;
    for (int id = 2; id <= 8; id++) {
      for (int i = 0; i < count; i++) {
        owner.letGo(owner.upload());
      }
      last = owner.commitOne(id);
      owner.execution.pass(Duration.ofSeconds(1));
    }
    assertThat(shared.names()).hasSizeGreaterThan(7 * count);
    assertThat(owner.catalog.remembered())
        .isLessThan(GarbageCollector.MAX_REMEMBERED + 2 * count + 100);
    owner.store.heal();
    for (int id = 9; id <= 11; id++) {
      owner.execution.pass(Duration.ofMinutes(10));
      last = owner.commitOne(id);
    }
    assertThat(shared.names()).containsExactly(last.toString(), slot(1), slot(12));
  }
}
