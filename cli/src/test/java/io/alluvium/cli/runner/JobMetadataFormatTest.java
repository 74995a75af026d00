package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.cli.input.Fingerprint;
import io.alluvium.cli.input.JobException;
import io.alluvium.cli.input.Position;
import io.alluvium.cli.input.Split;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class JobMetadataFormatTest {
  /** Golden bytes: what is stored today stays readable. */
  private static final String STORED =
      "{\"format\":1,\"kind\":\"sliding-window\",\"parameters\":{\"--key\":\"origin\",\"--window\":\"1h\"},"
          + "\"maxParallelism\":128,"
          + "\"files\":[{\"name\":\"flights.csv\",\"sizeBytes\":1000,\"crc32c\":-7}],"
          + "\"splits\":[{\"file\":0,\"start\":10,\"end\":1000,\"firstLine\":2}],"
          + "\"positions\":[{\"offset\":500,\"line\":31,\"maxTimeMillis\":-9223372036854775808}],"
          + "\"firstCheckpoint\":1,"
          + "\"transactions\":[{\"subtask\":1,\"checkpoint\":4,"
          + "\"incarnation\":\"000102030405060708090a0b0c0d0e0f\"}],"
          + "\"counters\":{\"late drops\":3,\"late events\":2},\"outputs\":[],\"finished\":false}";

  private static final JobMetadata METADATA =
      new JobMetadata(
          1,
          "sliding-window",
          Map.of("--window", "1h", "--key", "origin"),
          128,
          List.of(new Fingerprint("flights.csv", 1000, -7)),
          List.of(new Split(0, 10, 1000, 2)),
          List.of(new Position(500, 31, Position.NO_TIME)),
          1,
          List.of(new Transaction(1, 4, "000102030405060708090a0b0c0d0e0f")),
          Map.of("late events", 2L, "late drops", 3L),
          List.of(),
          false);

  @Test
  void write_givesTheStoredForm() {
    assertThat(new String(JobMetadataFormat.write(METADATA), StandardCharsets.UTF_8))
        .isEqualTo(STORED);
  }

  @Test
  void read_givesItBack() {
    assertThat(JobMetadataFormat.read(STORED.getBytes(StandardCharsets.UTF_8), 4))
        .isEqualTo(METADATA);
  }

  @Test
  void read_newerFormat_isRefused() {
    byte[] newer = STORED.replace("\"format\":1", "\"format\":2").getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> JobMetadataFormat.read(newer, 4))
        .isInstanceOf(JobException.class)
        .hasMessage(
            "checkpoint 4 was written by a newer alluvium (job metadata format 2, this one reads 1);"
                + " use that version, or start over with --fresh");
  }

  @Test
  void read_somethingElse_isRefused() {
    for (String text : new String[] {"", "hello", "[]", "{\"format\":1,\"kind\":5"}) {
      assertThatThrownBy(() -> JobMetadataFormat.read(text.getBytes(StandardCharsets.UTF_8), 4))
          .as(text)
          .isInstanceOf(JobException.class)
          .hasMessageContaining("checkpoint 4 was not written by 'alluvium run'");
    }
  }

  @Test
  void watermark_isTheLeastOfAllSplits_finishedOnesLeftOut() {
    JobMetadata two =
        new JobMetadata(
            1,
            "k",
            Map.of(),
            1,
            List.of(),
            List.of(new Split(0, 0, 10, 1), new Split(0, 10, 20, 5)),
            List.of(new Position(5, 2, 700), new Position(15, 7, 900)),
            1,
            List.of(),
            Map.of(),
            List.of(),
            false);
    assertThat(two.watermark(50)).isEqualTo(650);
    assertThat(
            two.advancedTo(
                    List.of(new Position(10, 5, 700), new Position(15, 7, 900)),
                    List.of(),
                    Map.of())
                .watermark(50))
        .isEqualTo(850);
    assertThat(
            two.advancedTo(
                    List.of(new Position(5, 2, 700), new Position(10, 5, Position.NO_TIME)),
                    List.of(),
                    Map.of())
                .watermark(50))
        .isEqualTo(Long.MIN_VALUE);
  }
}
