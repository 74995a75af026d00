package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.cli.job.ResultRow;
import io.alluvium.spi.Incarnation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SortedRunsTest {

  @TempDir private Path directory;

  /** Keys of every length in bytes that UTF-8 has, and beyond the first plane. */
  private static ResultRow row(Random random) {
    StringBuilder key = new StringBuilder();
    for (int length = 1 + random.nextInt(8); length > 0; length--) {
      key.appendCodePoint(
          switch (random.nextInt(4)) {
            case 0 -> 'a' + random.nextInt(26);
            case 1 -> 0x400 + random.nextInt(100);
            case 2 -> 0xff00 + random.nextInt(100);
            default -> 0x20000 + random.nextInt(100);
          });
    }
    return new ResultRow(key.toString(), random.nextLong());
  }

  @Test
  void merge_manyMoreRowsThanFitIntoMemory_givesAllInOrder_andLeavesNothing() throws IOException {
    Random random = new Random(1);
    List<ResultRow> expected = new ArrayList<>();
    List<ResultRow> found = new ArrayList<>();
    try (FileSink sink = new FileSink(directory, new Incarnation(0, 1))) {
      List<SortedRuns> all = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        SortedRuns runs = sink.rows(i, 1_000);
        all.add(runs);
        for (int left = i * 1_500; left > 0; left--) {
          ResultRow row = row(random);
          expected.add(row);
          runs.accept(row);
        }
        assertThat(runs.fileCount()).isLessThanOrEqualTo(SortedRuns.MAX_FILES);
      }
      assertThat(all).extracting(SortedRuns::fileCount).first().isEqualTo(0);
      // The third has merged its files more than once.
      assertThat(files()).isBetween(4L, 2L * SortedRuns.MAX_FILES);
      SortedRuns.merge(all, found::add);
    }
    Collections.sort(expected);
    assertThat(found).extracting(ResultRow::key).isEqualTo(keys(expected));
    assertThat(found).containsExactlyInAnyOrderElementsOf(expected);
    try (Stream<Path> left = Files.list(directory)) {
      assertThat(left).isEmpty();
    }
  }

  @Test
  void merge_fewRows_makesNoFile() throws IOException {
    List<ResultRow> found = new ArrayList<>();
    try (FileSink sink = new FileSink(directory, new Incarnation(0, 1))) {
      SortedRuns runs = sink.rows(0, 1_000);
      runs.accept(new ResultRow("b", 2));
      runs.accept(new ResultRow("a", 1));
      SortedRuns.merge(List.of(runs), found::add);
    }
    assertThat(found).containsExactly(new ResultRow("a", 1), new ResultRow("b", 2));
    try (Stream<Path> left = Files.list(directory)) {
      assertThat(left).isEmpty();
    }
  }

  private long files() throws IOException {
    try (Stream<Path> walk = Files.walk(directory)) {
      return walk.filter(Files::isRegularFile).count();
    }
  }

  private static List<String> keys(List<ResultRow> rows) {
    return rows.stream().map(ResultRow::key).toList();
  }
}
