package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Operation;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.table.Change;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The bytes of a segment: as documented, readable for ever, every one of them covered. */
final class SegmentFormatTest {

  /** Version 1, as it was first written. It must stay readable. */
  private static final String GOLDEN =
      "414c5653000100000123456789abcdeffedcba987654321039020d74414c5642010000000000000000000001"
          + "000000000000006400000000000000680000002c0000002c000000010000000689c029bb0000002c0000002c"
          + "000000024073653e02032203010acb785f3e0020030002096170706c657265640223010002096170706c652b"
          + "0119000209666967011c0000050970656172414c564201000000000000000000000200000000000000070000"
          + "0000000000080000000500000005000000010000000328e422180000000500000005000000011c63441a0101"
          + "05008a4856000e000109414c5649000000020000000000000001000000000000006400000000000000680000"
          + "00000000001c0000007a00000000000000020000000000000007000000000000000800000000000000960000"
          + "00500f507a9300000000000000e60000005400010000414c5645d478a615";

  /** Version 1 with LZ4. */
  private static final String GOLDEN_LZ4 =
      "414c5653000100000123456789abcdeffedcba987654321039020d74414c5642010100000000000000000003"
          + "000000000000000500000000000000060000002f000000120000000100000003db3ba7e50000002f00000012"
          + "000000013eed287401012f3f87bb178f0010280001096b6101000f506161616161414c564900000001000000"
          + "000000000300000000000000050000000000000006000000000000001c0000005d3d52b1d600000000000000"
          + "790000003000010000414c56453b8e91ac";

  private static final BlobName NAME = new BlobName(Log.INCARNATION, 0, BlobName.Kind.LOG);

  /** What the golden segment holds, of two changelogs. */
  private static final List<Change> FIRST =
      List.of(
          change(100, Operation.PUT, 2, "apple", "red"),
          change(101, Operation.PUT, 5, "pear", ""),
          change(102, Operation.MERGE, 2, "apple", "+"),
          change(103, Operation.DELETE, 2, "fig", ""));

  private static final List<Change> SECOND = List.of(change(7, Operation.DELETE_RANGE, 1, "", ""));

  /** What the golden segment with LZ4 holds. */
  private static final List<Change> REPEATED =
      List.of(change(5, Operation.PUT, 1, "k", "a".repeat(40)));

  private final StepExecution execution = new StepExecution();
  private final MapBlobStore store = new MapBlobStore();

  private static Change change(long sqn, Operation operation, int keyGroup, String key, String to) {
    byte[] bytes = new byte[3 + key.length()];
    bytes[1] = (byte) keyGroup;
    bytes[2] = 9;
    for (int i = 0; i < key.length(); i++) {
      bytes[3 + i] = (byte) key.charAt(i);
    }
    byte[] value = new byte[to.length()];
    for (int i = 0; i < to.length(); i++) {
      value[i] = (byte) to.charAt(i);
    }
    return new Change(sqn, operation, bytes, value);
  }

  private List<BlockRef> write(Log log) {
    Changelog first = log.storage.open(1, Log.KEY_GROUPS, 100);
    Changelog second = log.storage.open(2, Log.KEY_GROUPS, 7);
    FIRST.forEach(change -> Log.append(first, change));
    SECOND.forEach(change -> Log.append(second, change));
    CompletableFuture<List<BlockRef>> ofFirst = first.persist(100);
    CompletableFuture<List<BlockRef>> ofSecond = second.persist(7);
    execution.runTasks();
    return List.of(ofFirst.join().get(0), ofSecond.join().get(0));
  }

  private Log log(String compression) {
    return new Log(store, execution, Map.of("dstl.dfs.compression.enabled", compression));
  }

  private byte[] bytes() {
    return Objects.requireNonNull(store.content().get(NAME.toString()));
  }

  @Test
  void bytes_areTheGoldenOnes() {
    write(log("false"));
    assertThat(HexFormat.of().formatHex(bytes())).isEqualTo(GOLDEN);
  }

  @Test
  void goldenBytes_areReadable() {
    List<BlockRef> refs = write(log("false"));
    MapBlobStore golden =
        new MapBlobStore(Map.of(NAME.toString(), HexFormat.of().parseHex(GOLDEN)));
    Log log = new Log(golden, execution, Map.of());
    assertThat(log.storage.verify(golden, NAME).problems()).isEmpty();
    assertThat(Log.lines(log.read(refs.subList(0, 1), Log.KEY_GROUPS))).isEqualTo(Log.lines(FIRST));
    assertThat(Log.lines(log.read(refs.subList(1, 2), Log.KEY_GROUPS)))
        .isEqualTo(Log.lines(SECOND));
  }

  /** The codec may find other bytes for the same changes one day; these must stay readable. */
  @Test
  void goldenLz4Bytes_areReadable() {
    MapBlobStore golden =
        new MapBlobStore(Map.of(NAME.toString(), HexFormat.of().parseHex(GOLDEN_LZ4)));
    Log log = new Log(golden, execution, Map.of());
    ChangelogStorage.Verification found = log.storage.verify(golden, NAME);
    assertThat(found.problems()).isEmpty();
    assertThat(found.blocks()).hasSize(1);
    assertThat(Log.lines(log.read(found.blocks(), Log.KEY_GROUPS))).isEqualTo(Log.lines(REPEATED));
  }

  @Test
  void lz4_whatIsWrittenHoldsTheSameChangesInNoMoreBytes() {
    Log log = log("true");
    Changelog changelog = log.storage.open(3, Log.KEY_GROUPS, 5);
    REPEATED.forEach(change -> Log.append(changelog, change));
    CompletableFuture<List<BlockRef>> refs = changelog.persist(5);
    execution.runTasks();
    assertThat(bytes()).hasSizeLessThanOrEqualTo(GOLDEN_LZ4.length() / 2);
    assertThat(Log.lines(log.read(refs.join(), Log.KEY_GROUPS))).isEqualTo(Log.lines(REPEATED));
  }

  @Test
  void documentation_showsTheGoldenBytes() throws IOException {
    Path page = Path.of(System.getProperty("alluvium.root"), "docs/formats/segment.md");
    List<StringBuilder> dumps = new ArrayList<>();
    Pattern row = Pattern.compile("^([0-9a-f]{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:  .*)?$");
    for (String line : Files.readAllLines(page)) {
      Matcher matcher = row.matcher(line);
      if (matcher.matches()) {
        int offset = Integer.parseInt(matcher.group(1), 16);
        if (offset == 0) {
          dumps.add(new StringBuilder());
        }
        StringBuilder hex = dumps.get(dumps.size() - 1);
        assertThat(offset).as("offset of '%s'", line).isEqualTo(hex.length() / 2);
        hex.append(matcher.group(2).replace(" ", ""));
      }
    }
    assertThat(dumps).map(StringBuilder::toString).containsExactly(GOLDEN, GOLDEN_LZ4);
  }

  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void verify_anyBitFlipped_namesBlobOffsetExpectedAndFound(String compression) {
    Log log = log(compression);
    write(log);
    int size = bytes().length;
    for (int at = 0; at < size; at++) {
      for (int bit = 0; bit < 8; bit++) {
        store.flip(NAME.toString(), at, bit);
        assertThat(log.storage.verify(store, NAME).problems())
            .as("bit %d of byte %d flipped", bit, at)
            .isNotEmpty()
            .allSatisfy(
                problem ->
                    assertThat(problem)
                        .contains("blob '" + NAME + "'")
                        .containsPattern("offset \\d+")
                        .contains("expected")
                        .contains("found"));
        store.flip(NAME.toString(), at, bit);
      }
    }
    assertThat(log.storage.verify(store, NAME).problems()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void read_anyByteFlipped_isRefusedWhenItIsUsed(String compression) {
    Log log = log(compression);
    List<BlockRef> refs = write(log);
    BlockRef block = refs.get(0);
    for (int at = 0; at < bytes().length; at++) {
      boolean inBlock = at >= block.offset() && at < block.offset() + block.length();
      store.flip(NAME.toString(), at, at % 8);
      if (inBlock) {
        assertThatThrownBy(() -> log.read(refs.subList(0, 1), Log.KEY_GROUPS))
            .as("byte %d", at)
            .isInstanceOfSatisfying(
                StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CORRUPT))
            .hasMessageContaining("blob '" + NAME + "'");
      } else {
        assertThat(Log.lines(log.read(refs.subList(0, 1), Log.KEY_GROUPS)))
            .isEqualTo(Log.lines(FIRST));
      }
      store.flip(NAME.toString(), at, at % 8);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void truncation_atAnyLength_isFound(String compression) {
    Log log = log(compression);
    List<BlockRef> refs = write(log);
    byte[] whole = bytes();
    BlockRef last = refs.get(1);
    for (int length = 0; length < whole.length; length++) {
      MapBlobStore cut = new MapBlobStore(Map.of(NAME.toString(), Arrays.copyOf(whole, length)));
      Log log2 = new Log(cut, execution, Map.of());
      assertThat(log2.storage.verify(cut, NAME).problems())
          .as("cut to %d", length)
          .isNotEmpty()
          .allSatisfy(problem -> assertThat(problem).contains("blob '" + NAME + "'"));
      if (length < last.offset() + last.length()) {
        assertThatThrownBy(() -> log2.read(refs.subList(1, 2), Log.KEY_GROUPS))
            .as("cut to %d", length)
            .hasMessageContaining("the end of the blob");
      }
    }
  }

  @Test
  void verify_missingOrLengthened_isFound() {
    Log log = log("false");
    write(log);
    byte[] longer = Arrays.copyOf(bytes(), bytes().length + 1);
    MapBlobStore lengthened = new MapBlobStore(Map.of(NAME.toString(), longer));
    assertThat(log.storage.verify(lengthened, NAME).problems()).isNotEmpty();
    assertThat(log.storage.verify(new MapBlobStore(), NAME).problems())
        .singleElement()
        .asString()
        .contains("missing");
  }

  @Test
  void verify_segmentUnderAnotherIncarnationsName_isFound() {
    Log log = log("false");
    write(log);
    BlobName other = new BlobName(new Incarnation(1, 2), 0, BlobName.Kind.LOG);
    MapBlobStore renamed = new MapBlobStore(Map.of(other.toString(), bytes()));
    assertThat(log.storage.verify(renamed, other).problems())
        .singleElement()
        .asString()
        .contains("incarnation")
        .contains(Log.INCARNATION.toString());
  }

  @Test
  void read_blockOfANewerVersion_isIncompatible() {
    Log log = log("false");
    List<BlockRef> refs = write(log);
    byte[] newer = bytes().clone();
    int at = (int) refs.get(0).offset();
    newer[at + BlockFormat.VERSION_AT] = 2;
    Bytes.putInt(
        newer,
        at + BlockFormat.HEADER_CRC_AT,
        SegmentFormat.crc(newer, at, BlockFormat.HEADER_CRC_AT));
    Log reader = new Log(new MapBlobStore(Map.of(NAME.toString(), newer)), execution, Map.of());
    assertThatThrownBy(() -> reader.read(refs.subList(0, 1), Log.KEY_GROUPS))
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INCOMPATIBLE))
        .hasMessageContaining("version 2")
        .hasMessageContaining("newer release");
  }

  @Test
  void verify_segmentOfANewerVersion_saysSo() {
    Log log = log("false");
    write(log);
    byte[] newer = bytes().clone();
    Bytes.putShort(newer, SegmentFormat.HEADER_VERSION_AT, 2);
    Bytes.putInt(
        newer,
        SegmentFormat.HEADER_CRC_AT,
        SegmentFormat.crc(newer, 0, SegmentFormat.HEADER_CRC_AT));
    MapBlobStore other = new MapBlobStore(Map.of(NAME.toString(), newer));
    assertThat(log.storage.verify(other, NAME).problems())
        .singleElement()
        .asString()
        .contains("format version 2")
        .contains("newer release");
  }

  @Test
  void read_wrongReference_isRefused() {
    Log log = log("false");
    BlockRef ref = write(log).get(0);
    List<BlockRef> wrong =
        List.of(
            new BlockRef(ref.blob(), ref.offset(), ref.length(), 99, 103),
            new BlockRef(ref.blob(), ref.offset(), ref.length(), 100, 105),
            new BlockRef(ref.blob(), ref.offset(), ref.length() - 1, 100, 104),
            new BlockRef(ref.blob(), ref.offset() + 1, ref.length(), 100, 104),
            new BlockRef(ref.blob(), -1, ref.length(), 100, 104),
            new BlockRef(ref.blob(), ref.offset(), 10, 100, 104),
            new BlockRef(ref.blob(), ref.offset(), ref.length(), 100, 100));
    for (BlockRef each : wrong) {
      assertThatThrownBy(() -> log.read(List.of(each), Log.KEY_GROUPS))
          .as("%s", each)
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CORRUPT));
    }
  }
}
