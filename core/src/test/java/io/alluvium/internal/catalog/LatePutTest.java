package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.internal.catalog.CatalogSettings.Fencing;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The put of a manifest that its process did not live to see, and that arrives when the next owner
 * has taken the slot. Where puts have no conditions it replaces that owner's takeover record. It
 * can never replace a manifest: a process puts into the slot after the newest that it stored, and
 * whoever takes over takes that slot or one above.
 */
final class LatePutTest {

  private final MemoryBlobStore.Content content = new MemoryBlobStore.Content();
  private final MemoryBlobStore raw = new MemoryBlobStore(content, "memory:test", () -> 0);
  private long seed;

  @Test
  void withoutFencing_acknowledgedCheckpointsStay() {
    byte[] late = manifestUnderWay(Fencing.NONE);
    Owner second = owner(Fencing.NONE);
    assertThat(second.takeOver().orElseThrow().id()).isEqualTo(1);
    second.commitOne(2);
    raw.put(SlotNames.of(3), List.of(ByteBuffer.wrap(late)));
    second.commitOne(3);
    assertThat(owner(Fencing.NONE).takeOver().orElseThrow().id()).isEqualTo(3);
  }

  /**
   * The exposure, docs/operations.md: what the second owner did not restore is the newest again.
   */
  @Test
  void withoutFencing_beforeTheNextOwnerHasStoredAny_theUnacknowledgedOneIsRestored() {
    byte[] late = manifestUnderWay(Fencing.NONE);
    Owner second = owner(Fencing.NONE);
    assertThat(second.takeOver().orElseThrow().id()).isEqualTo(1);
    raw.put(SlotNames.of(3), List.of(ByteBuffer.wrap(late)));
    assertThat(owner(Fencing.NONE).takeOver().orElseThrow().id()).isEqualTo(2);
  }

  @Test
  void withFencing_theStoreRefusesIt() {
    byte[] late = manifestUnderWay(Fencing.PUT_IF_ABSENT);
    Owner second = owner(Fencing.PUT_IF_ABSENT);
    assertThat(second.takeOver().orElseThrow().id()).isEqualTo(1);
    assertThat(raw.putIfAbsent(SlotNames.of(3), late)).isFalse();
    assertThat(owner(Fencing.PUT_IF_ABSENT).takeOver().orElseThrow().id()).isEqualTo(1);
  }

  /** The bytes of checkpoint 2, whose outcome its process never learnt; checkpoint 1 is stored. */
  private byte[] manifestUnderWay(Fencing fencing) {
    Owner first = owner(fencing);
    first.takeOver();
    first.commitOne(1);
    first.store.before(
        call -> call.op().startsWith("put") && call.name().equals(SlotNames.of(3)),
        () -> {
          first.store.failAfter(call -> call.op().startsWith("put"), 1);
          first.store.failBefore(call -> true, Integer.MAX_VALUE);
        });
    Expect.failure(Kind.UNAVAILABLE, () -> first.commitOne(2), "unknown");
    byte[] bytes = raw.read(SlotNames.of(3), 0, (int) raw.size(SlotNames.of(3)).orElseThrow());
    raw.delete(List.of(SlotNames.of(3)));
    return bytes;
  }

  private Owner owner(Fencing fencing) {
    return new Owner(
        content, ++seed, new CatalogSettings(1, false, Duration.ofSeconds(60), fencing, "test"));
  }
}
