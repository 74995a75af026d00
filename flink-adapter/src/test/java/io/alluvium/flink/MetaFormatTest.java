package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Incarnation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

final class MetaFormatTest {

  private static final Incarnation INCARNATION = new Incarnation(0x11, 0x22);
  private static final BlobName FIRST = new BlobName(INCARNATION, 0, BlobName.Kind.LOG);
  private static final BlobName SECOND = new BlobName(INCARNATION, 1, BlobName.Kind.LOG);

  private static byte[] encoded() {
    CheckpointHandle handle =
        new CheckpointHandle(
            7,
            new KeyGroupRange(0, 4),
            4,
            5,
            List.of(),
            List.of(new BlockRef(FIRST, 32, 50, 0, 3), new BlockRef(SECOND, 32, 60, 3, 5)),
            new SerializerSnapshot("bytes", 1, new byte[0]),
            List.of());
    String file = FIRST.toString();
    List<MetaFormat.SharedBlob> shared =
        List.of(
            new MetaFormat.SharedBlob(FIRST, file, 0, 140),
            new MetaFormat.SharedBlob(SECOND, file, 140, 160));
    return MetaFormat.encode(handle, shared, new byte[] {1, 2});
  }

  @Test
  void bytes_areAsDocumented() throws IOException {
    assertThat(HexFormat.of().formatHex(encoded()))
        .isEqualTo(HexFormat.of().formatHex(documented()));
  }

  private static byte[] documented() throws IOException {
    Path page =
        Path.of(System.getProperty("alluvium.root", ".."))
            .resolve("docs/formats/flink-checkpoint.md");
    StringBuilder hex = new StringBuilder();
    boolean inside = false;
    for (String line : Files.readAllLines(page)) {
      if (line.startsWith("```")) {
        inside = line.equals("```meta");
      } else if (inside) {
        assertThat(Integer.parseInt(line.substring(0, 4).trim())).isEqualTo(hex.length() / 2);
        hex.append(line.substring(6).split(" {2,}", 2)[0].replace(" ", ""));
      }
    }
    return HexFormat.of().parseHex(hex);
  }

  @Test
  void decode_givesWhatWasEncoded() {
    MetaFormat.Meta meta = MetaFormat.decode(encoded(), "meta");
    assertThat(meta.handle().checkpointId()).isEqualTo(7);
    assertThat(meta.handle().blobs()).containsExactly(FIRST, SECOND);
    assertThat(meta.shared())
        .containsExactly(
            new MetaFormat.SharedBlob(FIRST, FIRST.toString(), 0, 140),
            new MetaFormat.SharedBlob(SECOND, FIRST.toString(), 140, 160));
    assertThat(meta.flink()).containsExactly(1, 2);
  }

  @Test
  void everyFlippedBit_isCorrupt() {
    byte[] bytes = encoded();
    for (int bit = 0; bit < 8 * bytes.length; bit++) {
      byte[] damaged = bytes.clone();
      damaged[bit / 8] ^= (byte) (1 << (bit % 8));
      assertThatThrownBy(() -> MetaFormat.decode(damaged, "meta 7"))
          .as("bit " + bit)
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CORRUPT))
          .hasMessageContaining("meta 7");
    }
  }

  @Test
  void everyTruncation_isCorrupt() {
    byte[] bytes = encoded();
    for (int length = 0; length < bytes.length; length++) {
      byte[] damaged = Arrays.copyOf(bytes, length);
      assertThatThrownBy(() -> MetaFormat.decode(damaged, "meta 7"))
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CORRUPT));
    }
  }
}
