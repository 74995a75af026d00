package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.StateKind;
import io.alluvium.StateRegistration;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.TableFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class ManifestFormatTest {

  private static final Pattern DOCUMENTED_LINE =
      Pattern.compile(" *(\\d+)  ((?:[0-9a-f]{2} ?)+)(?: .*)?");

  private static final String BLOB = "slots/0000000000000006";

  @Test
  void encode_workedExamples_areTheDocumentedBytes() throws IOException {
    assertThat(hex(ManifestFormat.encode(Samples.exampleTakeover())))
        .isEqualTo(documented("takeover"));
    assertThat(hex(ManifestFormat.encode(Samples.exampleManifest())))
        .isEqualTo(documented("manifest"));
  }

  @Test
  void decode_documentedBytes_giveTheWorkedExamples() throws IOException {
    assertSame(
        ManifestFormat.decode("x", 5, HexFormat.of().parseHex(documented("takeover"))),
        Samples.exampleTakeover());
    assertSame(
        ManifestFormat.decode("x", 6, HexFormat.of().parseHex(documented("manifest"))),
        Samples.exampleManifest());
  }

  /** The first column of the fenced block of that name; a line is "offset bytes meaning". */
  @Test
  void encode_slotsGivenUp_standAtTheEnd_andComeBack() {
    SlotRecord.Manifest plain = Samples.exampleManifest();
    SlotRecord.Manifest manifest =
        new SlotRecord.Manifest(
            plain.header(),
            plain.checkpointId(),
            plain.handles(),
            plain.metadata(),
            List.of(3L, 300L));
    byte[] bytes = ManifestFormat.encode(manifest);
    byte[] end = Arrays.copyOfRange(bytes, bytes.length - 8, bytes.length - 4);
    assertThat(hex(end)).isEqualTo("0203ac02");
    assertThat(bytes).hasSize(ManifestFormat.encode(plain).length + end.length);
    SlotRecord.Manifest found = (SlotRecord.Manifest) ManifestFormat.decode(BLOB, 6, bytes);
    assertThat(found.givenUp()).containsExactly(3L, 300L);
    for (int count : new int[] {0, 0x7f}) {
      byte[] wrong = bytes.clone();
      wrong[bytes.length - 8] = (byte) count;
      sign(wrong);
      assertFails(Kind.CORRUPT, 6, wrong, BLOB, count + " slots given up");
    }
  }

  private static String documented(String name) throws IOException {
    Path page =
        Path.of(System.getProperty("alluvium.root", ".."), "docs", "formats", "manifest.md");
    Matcher block =
        Pattern.compile("```" + name + "\n(.*?)```", Pattern.DOTALL)
            .matcher(Files.readString(page));
    assertThat(block.find()).as("block '%s' in %s", name, page).isTrue();
    StringBuilder bytes = new StringBuilder();
    for (String line : block.group(1).lines().toList()) {
      Matcher columns = DOCUMENTED_LINE.matcher(line);
      assertThat(columns.matches()).as(line).isTrue();
      assertThat(Integer.parseInt(columns.group(1))).as(line).isEqualTo(bytes.length() / 2);
      bytes.append(columns.group(2).replace(" ", ""));
    }
    return bytes.toString();
  }

  @Test
  void decode_everyBitFlipped_isCorruptAndNamesTheBlob() {
    byte[] bytes = ManifestFormat.encode(Samples.exampleManifest());
    for (int at = 0; at < bytes.length; at++) {
      for (int bit = 0; bit < 8; bit++) {
        byte[] flipped = bytes.clone();
        flipped[at] ^= (byte) (1 << bit);
        assertThatThrownBy(() -> ManifestFormat.decode(BLOB, 6, flipped))
            .as("bit %d of byte %d", bit, at)
            .isInstanceOfSatisfying(
                StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CORRUPT))
            .message()
            .contains(BLOB, "offset", "expected", "found");
      }
    }
  }

  @Test
  void decode_everyTruncation_isCorrupt() {
    byte[] bytes = ManifestFormat.encode(Samples.exampleManifest());
    for (int length = 0; length < bytes.length; length++) {
      assertFails(Kind.CORRUPT, 6, Arrays.copyOf(bytes, length), BLOB, "expected", "found");
    }
    assertFails(Kind.CORRUPT, 6, Arrays.copyOf(bytes, bytes.length + 1), BLOB);
  }

  @Test
  void decode_everyByteOfTheBodyChangedWithRightChecksum_failsCleanlyOrDecodes() {
    byte[] bytes = ManifestFormat.encode(Samples.exampleManifest());
    int failures = 0;
    for (int at = ManifestFormat.BODY_AT; at < bytes.length - 4; at++) {
      for (int value : new int[] {0, 1, 0x7f, 0x80, 0xff}) {
        byte[] changed = bytes.clone();
        changed[at] = (byte) value;
        sign(changed);
        try {
          ManifestFormat.decode(BLOB, 6, changed);
        } catch (StateBackendException e) {
          failures++;
          assertThat(e.kind()).isIn(Kind.CORRUPT, Kind.INCOMPATIBLE);
          assertThat(e).hasMessageContaining(BLOB);
        }
      }
    }
    assertThat(failures).isPositive();
  }

  @Test
  void decode_newerVersion_isIncompatibleAndSaysWhatToDo() {
    byte[] bytes = ManifestFormat.encode(Samples.exampleManifest());
    bytes[ManifestFormat.VERSION_AT + 1] = 2;
    sign(bytes);
    assertFails(Kind.INCOMPATIBLE, 6, bytes, BLOB, "format version 2", "up to 1", "newer one");
  }

  @Test
  void decode_otherSlot_isCorrupt() {
    byte[] bytes = ManifestFormat.encode(Samples.exampleManifest());
    assertFails(Kind.CORRUPT, 9, bytes, "expected slot 9", "found slot 6");
  }

  @Test
  void encode_randomHandles_readBackTheSame() {
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      List<CheckpointHandle> handles = new ArrayList<>();
      for (int i = random.nextInt(4); i >= 0; i--) {
        handles.add(randomHandle(random));
      }
      assertThat(CheckpointHandleFormat.decode(CheckpointHandleFormat.encode(handles)))
          .as("seed %d", seed)
          .isEqualTo(handles);
    }
  }

  private static CheckpointHandle randomHandle(Random random) {
    List<CheckpointHandle.Part> parts = new ArrayList<>();
    for (int i = random.nextInt(3); i > 0; i--) {
      List<TableFile> files = new ArrayList<>();
      for (int f = random.nextInt(5); f > 0; f--) {
        files.add(
            new TableFile(
                "f" + f, randomBlob(random), random.nextLong() >>> 1, random.nextInt(), f > 1));
      }
      parts.add(
          new CheckpointHandle.Part(
              new KeyGroupRange(i, i + random.nextInt(100)),
              random.nextBoolean()
                  ? Optional.of(new Materialization("heap-1", 5, random.nextInt(9) + 5, files))
                  : Optional.empty(),
              randomBlocks(random)));
    }
    List<StateRegistration> states = new ArrayList<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      states.add(
          new StateRegistration(
              "s" + i, random.nextInt(), StateKind.MAP, Samples.NOTHING, randomFormats(random)));
    }
    return new CheckpointHandle(
        random.nextLong() >>> 1,
        new KeyGroupRange(0, random.nextInt(1000)),
        1000,
        random.nextLong() >>> 1,
        parts,
        randomBlocks(random),
        Samples.STRING,
        states);
  }

  private static List<SerializerSnapshot> randomFormats(Random random) {
    return List.of(
        Samples.LONG, new SerializerSnapshot("é", random.nextInt(9), new byte[random.nextInt(5)]));
  }

  private static BlobName randomBlob(Random random) {
    return new BlobName(
        new Incarnation(random.nextInt(2), random.nextInt(2)),
        random.nextBoolean() ? random.nextInt(5) : random.nextLong(),
        random.nextBoolean() ? BlobName.Kind.LOG : BlobName.Kind.TABLE);
  }

  private static List<BlockRef> randomBlocks(Random random) {
    List<BlockRef> blocks = new ArrayList<>();
    long sqn = random.nextInt(1000);
    for (int i = random.nextInt(20); i > 0; i--) {
      sqn += random.nextBoolean() ? 0 : random.nextInt(50);
      long to = sqn + random.nextInt(5000);
      blocks.add(
          new BlockRef(
              randomBlob(random), random.nextLong() >>> 1, random.nextInt(1 << 20), sqn, to));
      sqn = to;
    }
    return blocks;
  }

  @Test
  void encode_hundredsOfBlocks_takesAtMostSixteenBytesEach() {
    List<BlockRef> scattered = new ArrayList<>();
    List<BlockRef> together = new ArrayList<>();
    Random random = new Random(3);
    long sqn = 1L << 40;
    long offset = 0;
    for (int i = 0; i < 400; i++) {
      long to = sqn + 2_000 + random.nextInt(2_000);
      int length = 200_000 + random.nextInt(60_000);
      scattered.add(
          new BlockRef(
              Samples.log(Samples.FIRST, 1_000_000 + 5L * i),
              random.nextInt(9_000_000),
              length,
              sqn,
              to));
      together.add(
          new BlockRef(Samples.log(Samples.FIRST, 1_000_000 + i / 20), offset, length, sqn, to));
      offset = i % 20 == 19 ? 0 : offset + length;
      sqn = to;
    }
    double none = size(List.of());
    double eachScattered = (size(scattered) - none) / 400;
    double eachTogether = (size(together) - none) / 400;
    assertThat(eachScattered).as("one block a segment").isLessThanOrEqualTo(16);
    assertThat(eachTogether).as("twenty blocks a segment").isLessThanOrEqualTo(8);
  }

  private static int size(List<BlockRef> tail) {
    return CheckpointHandleFormat.encode(
            List.of(
                new CheckpointHandle(
                    1,
                    new KeyGroupRange(0, 16),
                    16,
                    9,
                    List.of(),
                    tail,
                    Samples.STRING,
                    List.of(Samples.COUNT))))
        .length;
  }

  @Test
  void encode_manySubtasks_storeRegistrationsOnce() {
    CheckpointHandle one = Samples.handle(1, List.of(Samples.log(Samples.FIRST, 1)));
    int single = CheckpointHandleFormat.encode(List.of(one)).length;
    int ten = CheckpointHandleFormat.encode(java.util.Collections.nCopies(10, one)).length;
    assertThat((ten - single) / 9).isLessThan(30);
  }

  @Test
  void decode_trailingBytes_isCorrupt() {
    ByteWriter out = new ByteWriter();
    CheckpointHandleFormat.write(out, List.of());
    out.writeByte(0);
    assertThatThrownBy(() -> CheckpointHandleFormat.decode(out.toByteArray()))
        .hasMessageContaining("1 more bytes");
  }

  @Test
  void decode_hugeCount_allocatesNothing() {
    ByteWriter out = new ByteWriter();
    out.writeByte(CheckpointHandleFormat.VERSION);
    out.writeVarInt(Integer.MAX_VALUE);
    assertThatThrownBy(() -> CheckpointHandleFormat.decode(out.toByteArray()))
        .hasMessageContaining(Integer.MAX_VALUE + " incarnations");
  }

  @Test
  void slotNames_parseOnlyWhatTheyWrite() {
    assertThat(SlotNames.of(0x1f)).isEqualTo("slots/000000000000001f");
    assertThat(SlotNames.tryParse("slots/000000000000001f")).hasValue(31);
    assertThat(SlotNames.tryParse("slots/000000000000001F")).isEmpty();
    assertThat(SlotNames.tryParse("slots/0000000000000000")).isEmpty();
    assertThat(SlotNames.tryParse("slots/+00000000000001f")).isEmpty();
    assertThat(SlotNames.tryParse("slots/1f")).isEmpty();
    assertThat(SlotNames.tryParse("slots/000000000000001f.bak")).isEmpty();
    assertThat(SlotNames.tryParse("data/0000000000000001f")).isEmpty();
  }

  static void sign(byte[] bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, bytes.length - 4);
    ByteWriter out = new ByteWriter();
    out.writeInt((int) crc.getValue());
    System.arraycopy(out.array(), 0, bytes, bytes.length - 4, 4);
  }

  private static void assertFails(Kind kind, long slot, byte[] bytes, String... parts) {
    assertThatThrownBy(() -> ManifestFormat.decode(BLOB, slot, bytes))
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(kind))
        .message()
        .contains(parts);
  }

  private static void assertSame(SlotRecord found, SlotRecord expected) {
    assertThat(found.header()).isEqualTo(expected.header());
    if (expected instanceof SlotRecord.Manifest manifest) {
      SlotRecord.Manifest other = (SlotRecord.Manifest) found;
      assertThat(other.checkpointId()).isEqualTo(manifest.checkpointId());
      assertThat(other.handles()).isEqualTo(manifest.handles());
      assertThat(other.metadata()).isEqualTo(manifest.metadata());
      assertThat(other.checkpoint().createdAt())
          .isEqualTo(Instant.parse("2026-01-02T03:04:05.678Z"));
    }
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }
}
