package io.alluvium.internal.catalog;

import static io.alluvium.internal.catalog.SharedStore.slot;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.CheckpointCatalog.Commit;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Incarnation;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What an owner's collections ask of the store, delete and leave alone. */
class GarbageCollectorTest {

  /** After one failure. */
  private static final Duration PAUSE = Duration.ofSeconds(1);

  private final SharedStore shared = new SharedStore();

  @Test
  void steadyState_listsNothingAndDeletesSlotsBeforeBlobs() {
    Owner owner = shared.owner();
    owner.takeOver();
    owner.commitOne(1);
    owner.commitOne(2);
    owner.store.clearCalls();
    owner.commitOne(3);
    assertThat(owner.store.calls())
        .extracting(ControlledStore.Call::op)
        .containsExactly("put", "putIfAbsent", "delete", "delete");
    assertThat(owner.store.calls().get(2).name()).startsWith("slots/");
    assertThat(owner.store.calls().get(3).name()).startsWith("data/");
    owner.store.clearCalls();
    owner.execution.runBackground();
    assertThat(owner.store.calls()).isEmpty();
  }

  @Test
  void collection_deletionFailed_isTriedAgainAfterTheNextCommit() {
    Owner owner = shared.owner();
    owner.takeOver();
    BlobName first = owner.commitOne(1);
    owner.store.failBefore(call -> call.is("delete", "slots/"), 1);
    BlobName second = owner.commitOne(2);
    assertThat(shared.names()).contains(first.toString(), slot(2));
    owner.execution.pass(PAUSE);
    owner.store.failAfter(call -> call.is("delete", "data/"), 1);
    BlobName third = owner.commitOne(3);
    assertThat(shared.names())
        .doesNotContain(first.toString(), second.toString(), slot(2), slot(3));
    owner.execution.pass(PAUSE);
    owner.store.clearCalls();
    BlobName fourth = owner.commitOne(4);
    assertThat(owner.store.calls()).filteredOn(call -> call.is("delete", "data/")).hasSize(1);
    assertThat(shared.names()).containsExactly(fourth.toString(), slot(1), slot(5));
    assertThat(shared.names()).doesNotContain(third.toString());
  }

  @Test
  void collection_processCloses_isNoWarning_anyOtherFailureIs() {
    Owner owner = shared.owner();
    owner.takeOver();
    BlobName unused = owner.commitOne(1);
    var closed = StateBackendException.closed("the state backend is closed");
    assertThat(saidWhenDeletionThrows(owner, 2, closed)).doesNotContain("WARN");
    var away = StateBackendException.unavailable("away", new IOException("away"));
    assertThat(saidWhenDeletionThrows(owner, 3, away))
        .contains("WARN", "deleting subsumed checkpoints failed", "away");
  }

  private static String saidWhenDeletionThrows(Owner owner, long id, StateBackendException e) {
    owner.store.before(
        call -> call.is("delete", "slots/"),
        () -> {
          throw e;
        });
    PrintStream before = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    System.setErr(new PrintStream(said, true, UTF_8));
    try {
      BlobName unused = owner.commitOne(id);
    } finally {
      System.setErr(before);
    }
    return said.toString(UTF_8);
  }

  @Test
  void collectGarbage_atCleanEnd_leavesWhatIsRetainedAndTakeovers() {
    Owner crashed = shared.owner();
    crashed.takeOver();
    crashed.commitOne(1);
    crashed.upload();
    Owner owner = shared.owner();
    owner.takeOver();
    BlobName lost = owner.upload();
    BlobName last = owner.upload();
    Commit unused = owner.commit(2, List.of(last));
    owner.live.add(lost);
    owner.collectAtEnd();
    assertThat(shared.names()).containsExactly(last.toString(), slot(1), slot(3), slot(4));
  }

  @Test
  void collectGarbage_unknownIncarnationAndForeignNames_areLeftAlone() {
    Owner owner = shared.owner();
    owner.takeOver();
    BlobName blob = owner.commitOne(1);
    BlobName unknown = Samples.log(new Incarnation(7, 7), 1);
    put(unknown.toString());
    put("data/readme");
    put("other/file");
    owner.collectAtEnd();
    assertThat(shared.names())
        .containsExactlyInAnyOrder(
            blob.toString(), unknown.toString(), "data/readme", "other/file", slot(1), slot(2));
  }

  private void put(String name) {
    shared.raw.put(name, List.of(ByteBuffer.wrap(Owner.CONTENT)));
  }

  /** Slots go before blobs (C4), but no manifest refers to what was never committed. */
  @Test
  void collection_slotsAreNotDeleted_onlyWhatNoManifestNamedGoes() {
    Owner owner = shared.owner();
    owner.takeOver();
    owner.store.refuse(call -> call.is("delete", "slots/"));
    BlobName committed = owner.commitOne(1);
    BlobName lost = owner.upload();
    BlobName other = owner.commitOne(2);
    owner.letGo(lost);
    owner.commitOne(3);
    assertThat(shared.names())
        .doesNotContain(lost.toString())
        .contains(committed.toString(), other.toString(), slot(2), slot(3));
    owner.store.heal();
    owner.execution.pass(Duration.ofMinutes(10));
    BlobName last = owner.commitOne(4);
    assertThat(shared.names()).containsExactly(last.toString(), slot(1), slot(5));
  }

  /** Memory may run out over a listing as anywhere else. */
  @Test
  void collection_endsInAnError_isTriedAgainAndKeepsNobodyWaiting() {
    Owner owner = shared.owner();
    owner.takeOver();
    BlobName first = owner.commitOne(1);
    LiveRegistration broken =
        owner.catalog.registerLive(
            () -> {
              throw new OutOfMemoryError("test");
            });
    BlobName second = owner.commitOne(2);
    assertThatThrownBy(owner.catalog::collectGarbage).isInstanceOf(OutOfMemoryError.class);
    assertThat(shared.names()).contains(first.toString(), second.toString());
    broken.close();
    BlobName third = owner.commitOne(3);
    assertThat(shared.names()).doesNotContain(first.toString());
    owner.collectAtEnd();
    assertThat(shared.names()).containsExactly(third.toString(), slot(1), slot(4));
  }
}
