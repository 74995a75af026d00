package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.CheckpointCatalog.Commit;
import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointInspector;
import io.alluvium.CheckpointInspector.CollectMode;
import io.alluvium.CheckpointInspector.Entry;
import io.alluvium.CheckpointInspector.Verification;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Incarnation;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SlotInspectorTest {

  private final MemoryBlobStore.Content content = new MemoryBlobStore.Content();
  private final StepExecution execution = new StepExecution();
  private final long[] storeMillis = {execution.currentTimeMillis()};
  private final MemoryBlobStore raw =
      new MemoryBlobStore(content, "memory:raw", () -> storeMillis[0]);
  private final CheckpointInspector inspector =
      new SlotInspector(raw, execution, SlotInspectorTest::verifySegment);
  private long seed;

  /** A segment of these tests holds {@link Owner#CONTENT}. */
  private static ChangelogStorage.Verification verifySegment(BlobStore store, BlobName segment) {
    int size = (int) store.size(segment.toString()).orElseThrow();
    byte[] bytes = store.read(segment.toString(), 0, size);
    return new ChangelogStorage.Verification(
        List.of(),
        Arrays.equals(bytes, Owner.CONTENT)
            ? List.of()
            : List.of("blob '" + segment + "' is damaged at offset 0: expected blob, found other"));
  }

  private Owner owner(int retained) {
    return new Owner(content, ++seed, Owner.retain(retained));
  }

  private List<String> names() {
    return raw.list("").stream().map(BlobInfo::name).toList();
  }

  private Verification verify(long id) {
    return inspector.verify(id, (name, size) -> {});
  }

  private byte[] bytes(String name) {
    return raw.read(name, 0, (int) raw.size(name).orElseThrow());
  }

  private void write(String name, byte[] bytes) {
    raw.put(name, List.of(ByteBuffer.wrap(bytes)));
  }

  @Test
  void list_emptyStore_isEmpty() {
    assertThat(inspector.list()).isEmpty();
    Expect.failure(Kind.INVALID, () -> verify(1), "no checkpoint 1", "none at all");
  }

  @Test
  void list_givesManifestsOldestFirstAndDamagedOnesByName() {
    Owner owner = owner(3);
    owner.takeOver();
    owner.commitOne(1);
    owner.commitOne(2);
    owner.commitOne(3);
    String second = SlotNames.of(3);
    byte[] cut = Arrays.copyOf(bytes(second), 50);
    write(second, cut);

    List<Entry> entries = inspector.list();
    assertThat(entries)
        .extracting(Entry::blobName)
        .containsExactly(SlotNames.of(2), second, SlotNames.of(4));
    assertThat(entries.get(0).checkpoint().orElseThrow().id()).isEqualTo(1);
    assertThat(entries.get(0).problem()).isEmpty();
    assertThat(entries.get(1).checkpoint()).isEmpty();
    assertThat(entries.get(1).problem().orElseThrow()).contains(second, "offset 50");
    assertThat(entries.get(1).sizeBytes()).isEqualTo(50);
    assertThat(entries.get(2).checkpoint().orElseThrow().id()).isEqualTo(3);
  }

  @Test
  void newest_tellsDamageDownToTheNewestSoundManifest() {
    assertThat(inspector.newest()).isEmpty();
    Owner owner = owner(3);
    owner.takeOver();
    assertThat(inspector.newest()).isEmpty();
    owner.commitOne(1);
    owner.commitOne(2);
    owner.commitOne(3);
    assertThat(inspector.newest()).extracting(Entry::blobName).containsExactly(SlotNames.of(4));
    byte[] bad = bytes(SlotNames.of(4));
    bad[30] ^= 1;
    write(SlotNames.of(4), bad);
    owner(3).catalog.startOver("job");
    List<Entry> newest = inspector.newest();
    assertThat(newest)
        .extracting(Entry::blobName)
        .containsExactly(SlotNames.of(4), SlotNames.of(3));
    assertThat(newest.get(0).problem()).isPresent();
    assertThat(newest.get(1).checkpoint().orElseThrow().id()).isEqualTo(2);
  }

  @Test
  void newest_retiredWhileReading_isTheNextOne() {
    Owner owner = owner(1);
    owner.takeOver();
    owner.commitOne(1);
    ControlledStore view = new ControlledStore(content);
    view.before(
        call -> call.is("open", SlotNames.of(2)),
        () -> {
          BlobName unused = owner.commitOne(2);
        });
    CheckpointInspector slow = new SlotInspector(view, execution, SlotInspectorTest::verifySegment);
    assertThat(slow.newest())
        .extracting(entry -> entry.checkpoint().orElseThrow().id())
        .containsExactly(2L);
  }

  @Test
  void list_newerFormat_saysSo() {
    byte[] newer = ManifestFormat.encode(Samples.exampleManifest());
    newer[ManifestFormat.VERSION_AT + 1] = 9;
    ManifestFormatTest.sign(newer);
    write(SlotNames.of(6), newer);
    assertThat(inspector.list().get(0).problem().orElseThrow()).contains("version 9");
  }

  /** A checkpoint of one table file and one segment, an older one, and an orphan of each kind. */
  private List<String> sample() {
    Owner owner = owner(2);
    owner.takeOver();
    owner.commitOne(1);
    BlobName file = owner.uploadTable();
    BlobName segment = owner.upload();
    owner.commit(2, List.of(file, segment));
    BlobName orphanFile = owner.uploadTable();
    BlobName orphanSegment = owner.upload();
    return List.of(
        file.toString(), segment.toString(), orphanFile.toString(), orphanSegment.toString());
  }

  @Test
  void verify_soundStore_readsEveryBlobOnceTheCheckpointsFirst() {
    List<String> blobs = sample();
    List<String> read = new ArrayList<>();
    Verification found = inspector.verify(2, (name, size) -> read.add(name + " " + size));
    assertThat(found.problems()).isEmpty();
    assertThat(found.orphans()).containsExactly(blobs.get(2));
    assertThat(read)
        .startsWith(
            SlotNames.of(3) + " " + raw.size(SlotNames.of(3)).orElseThrow(),
            blobs.get(0) + " 4",
            blobs.get(1) + " 4")
        .doesNotHaveDuplicates()
        .hasSize(names().size() - 1);
  }

  @Test
  void verify_everyBitOfEveryBlobFlipped_isNamed() {
    List<String> blobs = sample();
    for (String name : names()) {
      byte[] good = bytes(name);
      for (int at = 0; at < good.length; at++) {
        byte[] bad = good.clone();
        bad[at] ^= (byte) (1 << at % 8);
        write(name, bad);
        Verification found = verify(2);
        if (name.equals(blobs.get(2))) {
          assertThat(found.orphans()).as("nothing vouches for it").contains(name);
        } else {
          assertThat(found.problems()).as("byte %d of %s", at, name).isNotEmpty();
          assertThat(found.problems().get(0)).contains(name, "offset", "expected", "found");
        }
      }
      write(name, good);
    }
  }

  @Test
  void verify_blocksThatASegmentDoesNotHold_areNamed() {
    Owner owner = owner(1);
    owner.takeOver();
    BlobName other = owner.upload();
    BlobName shifted = owner.upload();
    owner.commit(1, List.of(other, shifted));
    // The handle names changes [0, 10) in the one and [10, 20) in the other, each at offset 0.
    Map<BlobName, BlockRef> index =
        Map.of(
            other, new BlockRef(other, 0, 4, 0, 9),
            shifted, new BlockRef(shifted, 1, 4, 10, 20));
    CheckpointInspector outside =
        new SlotInspector(
            raw,
            execution,
            (store, segment) ->
                new ChangelogStorage.Verification(List.of(index.get(segment)), List.of()));
    assertThat(outside.verify(1, (name, size) -> {}).problems())
        .hasSize(2)
        .anySatisfy(
            problem ->
                assertThat(problem)
                    .contains(other.toString(), "offset 0", "changes [0, 10)", "changes [0, 9)"))
        .anySatisfy(
            problem ->
                assertThat(problem)
                    .contains(shifted.toString(), "changes [10, 20)", "no block in its index"));
  }

  @Test
  void verify_handleThatLeavesChangesOut_isNamed() {
    Owner owner = owner(1);
    owner.takeOver();
    CheckpointHandle sound = Samples.handle(1, List.of(owner.upload(), owner.upload()));
    CheckpointHandle torn =
        new CheckpointHandle(
            1,
            sound.keyGroups(),
            sound.maxParallelism(),
            sound.end(),
            sound.parts(),
            sound.tail().subList(1, 2),
            sound.key(),
            sound.states());
    Commit unused = owner.catalog.commit(1, List.of(torn), new byte[0]);
    assertThat(verify(1).problems())
        .singleElement()
        .asString()
        .contains(SlotNames.of(2), "from sequence number 0, where it starts, to 10");
  }

  @Test
  void verify_truncatedAndMissingBlobs_areNamed() {
    List<String> blobs = sample();
    write(blobs.get(0), new byte[3]);
    assertThat(verify(2).problems())
        .singleElement()
        .asString()
        .contains(blobs.get(0), "offset 3", "expected 4 bytes", "found 3 bytes");
    raw.delete(List.of(blobs.get(0), blobs.get(1)));
    assertThat(verify(2).problems())
        .hasSize(2)
        .allMatch(problem -> problem.contains("nothing of that name"));
  }

  @Test
  void verify_unknownId_isInvalidUnlessADamagedManifestMayBeIt() {
    sample();
    Expect.failure(Kind.INVALID, () -> verify(9), "no checkpoint 9", "1, 2");
    byte[] bad = bytes(SlotNames.of(3));
    bad[30] ^= 1;
    write(SlotNames.of(3), bad);
    assertThat(verify(2).problems()).singleElement().asString().contains(SlotNames.of(3));
  }

  @Test
  void verify_foreignFiles_areOrphansAndNoDamage() {
    sample();
    write("notes.txt", new byte[2]);
    write("data/readme", new byte[2]);
    assertThat(verify(2).problems()).isEmpty();
    assertThat(verify(2).orphans()).contains("notes.txt", "data/readme");
  }

  @Test
  void collect_dryRun_saysWhatWouldGoAndDeletesNothing() {
    List<String> blobs = sample();
    List<String> before = names();
    CheckpointInspector.Collection found = inspector.collect(Duration.ZERO, CollectMode.DRY_RUN);
    assertThat(found.deleted()).containsExactlyInAnyOrder(blobs.get(2), blobs.get(3));
    assertThat(found.bytes()).isEqualTo(8);
    assertThat(found.kept()).isZero();
    assertThat(names()).isEqualTo(before);
    assertThat(inspector.collect(Duration.ZERO, CollectMode.DELETE).deleted()).hasSize(2);
    assertThat(names()).doesNotContain(blobs.get(2), blobs.get(3));
    assertThat(verify(2).problems()).isEmpty();
  }

  @Test
  void collect_ownerStoredSomethingLately_isSpared() {
    Owner first = owner(1);
    first.takeOver();
    first.commitOne(1);
    BlobName lost = first.upload();
    Owner second = owner(1);
    second.takeOver();
    storeMillis[0] = execution.currentTimeMillis() - Duration.ofMinutes(30).toMillis();
    BlobName pending = second.catalog.names().next(BlobName.Kind.LOG);
    write(pending.toString(), Owner.CONTENT);
    CheckpointInspector.Collection found =
        inspector.collect(Duration.ofHours(1), CollectMode.DELETE);
    assertThat(found.deleted()).containsExactly(lost.toString());
    assertThat(found.kept()).isEqualTo(1);
    assertThat(inspector.collect(Duration.ofMinutes(29), CollectMode.DELETE).deleted())
        .containsExactly(pending.toString());
    assertThat(second.commit(2, List.of(second.upload())).written()).isTrue();
  }

  @Test
  void collect_unknownAndLaterIncarnations_areLeftAlone() {
    Owner owner = owner(1);
    owner.takeOver();
    owner.commitOne(1);
    String unknown = Samples.log(new Incarnation(3, 4), 1).toString();
    write(unknown, Owner.CONTENT);
    CheckpointInspector.Collection found = inspector.collect(Duration.ZERO, CollectMode.DELETE);
    assertThat(found.deleted()).isEmpty();
    assertThat(found.kept()).isEqualTo(1);
    assertThat(names()).contains(unknown);
  }

  /** A taker that got stuck below is not the owner; the owner's blobs are not older than its. */
  @Test
  void collect_takeoverRecordInAGap_doesNotMakeTheOwnerOlder() {
    Owner owner = owner(1);
    owner.takeOver();
    owner.commitOne(1);
    owner.commitOne(2);
    BlobName waiting = owner.upload();
    SlotRecord.Header header = Samples.exampleTakeover().header();
    SlotRecord.Takeover stuck =
        new SlotRecord.Takeover(
            new SlotRecord.Header("job", 2, 1, Samples.FIRST, "test", header.createdAt()));
    assertThat(raw.putIfAbsent(SlotNames.of(2), ManifestFormat.encode(stuck))).isTrue();
    CheckpointInspector.Collection found =
        inspector.collect(Duration.ofDays(20_000), CollectMode.DELETE);
    assertThat(found.deleted()).isEmpty();
    assertThat(names()).contains(waiting.toString());
  }

  @Test
  void collect_newestSlotDamaged_sparesEverything() {
    sample();
    byte[] bad = bytes(SlotNames.of(3));
    bad[30] ^= 1;
    write(SlotNames.of(3), bad);
    List<String> before = names();
    CheckpointInspector.Collection found = inspector.collect(Duration.ZERO, CollectMode.DELETE);
    assertThat(found.deleted()).isEmpty();
    assertThat(found.kept()).isEqualTo(4);
    assertThat(names()).isEqualTo(before);
  }

  @Test
  void list_onlyManifestRetiredWhileReading_showsTheNextOne() {
    Owner owner = owner(1);
    owner.takeOver();
    owner.commitOne(1);
    ControlledStore view = new ControlledStore(content);
    view.before(
        call -> call.is("open", SlotNames.of(2)),
        () -> {
          BlobName unused = owner.commitOne(2);
        });
    CheckpointInspector slow = new SlotInspector(view, execution, SlotInspectorTest::verifySegment);
    assertThat(slow.list())
        .extracting(entry -> entry.checkpoint().orElseThrow().id())
        .containsExactly(2L);
  }

  @Test
  void collect_slotRetiredWhileReading_readsAgain() {
    Owner owner = owner(1);
    owner.takeOver();
    owner.commitOne(1);
    ControlledStore view = new ControlledStore(content);
    List<BlobName> later = new ArrayList<>();
    view.before(call -> call.is("open", SlotNames.of(2)), () -> later.add(owner.commitOne(2)));
    CheckpointInspector slow = new SlotInspector(view, execution, SlotInspectorTest::verifySegment);
    assertThat(slow.collect(Duration.ZERO, CollectMode.DELETE).deleted())
        .doesNotContain(later.get(0).toString());
    assertThat(verify(2).problems()).isEmpty();
  }

  /** Killed between the put of a manifest and the deletion of the one that it subsumes. */
  @Test
  void collect_retaining_retiresWhatTheDeadOwnerDidNotComeTo() {
    Owner owner = owner(2);
    owner.takeOver();
    BlobName first = owner.commitOne(1);
    owner.commitOne(2);
    CheckpointInspector.Collection would = inspector.collect(Duration.ZERO, 1, CollectMode.DRY_RUN);
    assertThat(would.deleted()).containsExactly(SlotNames.of(2), first.toString());
    assertThat(would.bytes()).isEqualTo(bytes(SlotNames.of(2)).length + Owner.CONTENT.length);
    assertThat(names()).contains(SlotNames.of(2), first.toString());
    assertThat(inspector.collect(Duration.ZERO, 2, CollectMode.DELETE).deleted()).isEmpty();
    assertThat(inspector.collect(Duration.ZERO, 1, CollectMode.DELETE)).isEqualTo(would);
    assertThat(names()).doesNotContain(SlotNames.of(2), first.toString());
    assertThat(inspector.list())
        .extracting(entry -> entry.checkpoint().orElseThrow().id())
        .containsExactly(2L);
    assertThat(verify(2).problems()).isEmpty();
  }

  /** It retires its own; and what it fell back to may be any of them. */
  @Test
  void collect_retaining_ownerMayLiveOrHasStoredNothing_retiresNothing() {
    Owner first = owner(3);
    first.takeOver();
    first.commitOne(1);
    first.commitOne(2);
    assertThat(inspector.collect(Duration.ofDays(20_000), 1, CollectMode.DELETE).deleted())
        .isEmpty();
    Owner second = owner(3);
    second.takeOver();
    assertThat(inspector.collect(Duration.ZERO, 1, CollectMode.DELETE).deleted()).isEmpty();
    assertThat(inspector.list()).hasSize(2);
    Expect.failure(
        Kind.INVALID, () -> inspector.collect(Duration.ZERO, 0, CollectMode.DELETE), "at least 1");
  }

  @Test
  void collect_negativeGrace_isInvalid() {
    Expect.failure(
        Kind.INVALID,
        () -> inspector.collect(Duration.ofSeconds(-1), CollectMode.DRY_RUN),
        "grace");
  }
}
