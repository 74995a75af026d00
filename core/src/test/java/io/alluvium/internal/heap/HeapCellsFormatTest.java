package io.alluvium.internal.heap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.TableSnapshot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HeapCellsFormatTest {

  private static final KeyGroupRange ALL = new KeyGroupRange(0, 16);

  @TempDir Path directory;
  private final Model model = new Model(new HeapTable(ALL, new QueuedExecution()));

  private static byte[] hex(String digits) {
    return HexFormat.of().parseHex(digits);
  }

  /** The example of the format page: two key groups, a value state and a map state. */
  private byte[] example() throws IOException {
    model.put(Model.key(3, 1, "a", new byte[0]), hex("0102"));
    model.put(Model.key(3, 1, "ab", new byte[0]), hex(""));
    model.put(Model.key(3, 200, "k", hex("10")), hex("ff"));
    model.put(Model.key(3, 200, "k", hex("11")), hex("fe"));
    model.put(Model.key(5, 1, "b", new byte[0]), hex("03"));
    TableSnapshot snapshot = model.table.snapshotNow(directory);
    return Files.readAllBytes(snapshot.files().get(0).path());
  }

  @Test
  void write_example_givesTheDocumentedBytes() throws IOException {
    Path page =
        Path.of(System.getProperty("alluvium.root", "..")).resolve("docs/formats/heap-cells.md");
    StringBuilder documented = new StringBuilder();
    boolean inside = false;
    for (String line : Files.readAllLines(page)) {
      if (line.startsWith("```")) {
        inside = line.equals("```heap-cells");
      } else if (inside) {
        documented.append(line.substring(6).split(" {2,}", 2)[0].replace(" ", ""));
      }
    }
    assertThat(HexFormat.of().formatHex(example())).isEqualTo(documented.toString());
    assertThat(read(ALL)).isEqualTo(model.lines(new byte[0]));
  }

  private List<String> read(KeyGroupRange keyGroups) {
    return Model.lines(HeapCellsReader.open(directory, keyGroups));
  }

  @Test
  void read_someKeyGroups_givesOnlyTheirEntries() throws IOException {
    byte[] unused = example();
    assertThat(read(new KeyGroupRange(0, 3))).isEmpty();
    assertThat(read(new KeyGroupRange(3, 4))).hasSize(4);
    assertThat(read(new KeyGroupRange(4, 6))).hasSize(1);
    assertThat(read(new KeyGroupRange(6, 16))).isEmpty();
    assertThat(read(new KeyGroupRange(4, 4))).isEmpty();
  }

  @Test
  void read_manyEntriesAndHugeOnes_givesAll() {
    for (int i = 0; i < 20_000; i++) {
      model.put(Model.key(i % 16, 1 + i % 200, "key-" + i, new byte[0]), new byte[i % 50]);
    }
    model.put(Model.key(7, 3, "huge", new byte[0]), new byte[3 << 20]);
    TableSnapshot unused = model.table.snapshotNow(directory);
    assertThat(read(ALL)).isEqualTo(model.lines(new byte[0]));
    for (int keyGroup = 0; keyGroup < 16; keyGroup++) {
      assertThat(read(new KeyGroupRange(keyGroup, keyGroup + 1)))
          .isEqualTo(model.lines(new byte[] {0, (byte) keyGroup}));
    }
  }

  private void assertDamaged(byte[] bytes, String as) throws IOException {
    Path file = directory.resolve(HeapCellsFormat.FILE);
    Files.write(file, bytes);
    assertThatThrownBy(() -> read(ALL))
        .as(as)
        .isInstanceOf(StateBackendException.class)
        .hasMessageContainingAll(file.toString(), "offset", "expected", "found")
        .satisfies(e -> assertThat(((StateBackendException) e).kind()).isEqualTo(Kind.CORRUPT));
  }

  @Test
  void read_flippedByte_isCorrupt() throws IOException {
    byte[] sound = example();
    for (int at = 0; at < sound.length; at++) {
      for (int mask : new int[] {0x01, 0x80, 0xff}) {
        byte[] flipped = sound.clone();
        flipped[at] ^= (byte) mask;
        assertDamaged(flipped, "byte " + at + " xor " + mask);
      }
    }
  }

  @Test
  void read_truncatedOrExtendedFile_isCorrupt() throws IOException {
    byte[] sound = example();
    for (int length = 0; length < sound.length; length++) {
      assertDamaged(Arrays.copyOf(sound, length), "truncated to " + length);
    }
    assertDamaged(Arrays.copyOf(sound, sound.length + 1), "one byte more");
  }

  @Test
  void open_missingFile_isCorrupt() {
    assertThatThrownBy(() -> read(ALL))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("missing");
  }

  @Test
  void open_newerVersion_isIncompatible() throws IOException {
    byte[] bytes = example();
    bytes[HeapCellsFormat.HEADER_VERSION_AT + 1] = 2;
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, HeapCellsFormat.HEADER_CRC_AT);
    ByteWriter sum = new ByteWriter();
    sum.writeInt((int) crc.getValue());
    System.arraycopy(sum.array(), 0, bytes, HeapCellsFormat.HEADER_CRC_AT, 4);
    Files.write(directory.resolve(HeapCellsFormat.FILE), bytes);
    assertThatThrownBy(() -> read(ALL))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContainingAll("version 2", "reads version 1", "use the version that wrote it")
        .satisfies(
            e -> assertThat(((StateBackendException) e).kind()).isEqualTo(Kind.INCOMPATIBLE));
  }
}
