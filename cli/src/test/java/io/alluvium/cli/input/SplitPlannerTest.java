package io.alluvium.cli.input;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Splits cover their files exactly, and reading them gives every record once, in order. */
final class SplitPlannerTest {
  @TempDir Path dir;

  @Test
  void plan_smallFile_isOneSplit() throws IOException {
    InputFile file = file("a.txt", "one\ntwo\n");
    assertThat(SplitPlanner.plan(List.of(file), RecordFormat.LINES, List.of(0L)))
        .containsExactly(new Split(0, 0, 8, 1));
  }

  @Test
  void plan_emptyFile_hasNoSplit() throws IOException {
    InputFile file = file("a.txt", "");
    assertThat(SplitPlanner.plan(List.of(file), RecordFormat.LINES, List.of(0L))).isEmpty();
  }

  @Test
  void plan_header_isLeftOut_andLinesAreCounted() throws IOException {
    InputFile file = file("a.csv", "\"k\ney\",v\na,1\n");
    assertThat(SplitPlanner.plan(List.of(file), RecordFormat.CSV, List.of(9L)))
        .containsExactly(new Split(0, 9, 13, 3));
  }

  @Test
  void splits_ofRandomRecords_giveEveryRecordOnce_withItsLine() throws IOException {
    Random random = new Random(42);
    for (int round = 0; round < 50; round++) {
      List<String> records = new ArrayList<>();
      for (int i = random.nextInt(200); i > 0; i--) {
        String field = "x".repeat(random.nextInt(random.nextInt(20) == 0 ? 100_000 : 30));
        records.add(random.nextBoolean() ? field : "\"" + field + "\n,\"\"" + field + "\"");
      }
      String last = random.nextBoolean() || records.isEmpty() ? "" : "\n";
      InputFile file = file("r" + round, String.join("\n", records) + last);
      List<Split> splits =
          SplitPlanner.plan(
              List.of(file), RecordFormat.CSV, List.of(0L), 1 + random.nextInt(5_000));

      assertThat(read(file, splits)).isEqualTo(withLines(records, last));
    }
  }

  @Test
  void load_fileThatBecameShorter_namesIt() throws IOException {
    InputFile file = file("a.txt", "one\ntwo\n");
    RecordChunk chunk = new RecordChunk(RecordFormat.LINES);
    assertThatThrownBy(() -> chunk.load(file, 4, 20, 2))
        .isInstanceOf(JobException.class)
        .hasMessageContaining("a.txt' became shorter");
  }

  private static List<String> withLines(List<String> records, String last) {
    List<String> expected = new ArrayList<>();
    long line = 1;
    for (int i = 0; i < records.size(); i++) {
      // An empty record at the very end of the file has no byte of its own.
      if (i < records.size() - 1 || !last.isEmpty() || !records.get(i).isEmpty()) {
        expected.add(line + ":" + records.get(i));
      }
      line += 1 + records.get(i).chars().filter(c -> c == '\n').count();
    }
    return expected;
  }

  private static List<String> read(InputFile file, List<Split> splits) {
    List<String> found = new ArrayList<>();
    long at = 0;
    RecordChunk chunk = new RecordChunk(RecordFormat.CSV);
    for (Split split : splits) {
      assertThat(split.start()).isEqualTo(at);
      at = split.end();
      long offset = split.start();
      long line = split.firstLine();
      while (offset < split.end()) {
        chunk.load(file, offset, split.end(), line);
        while (chunk.next()) {
          found.add(
              chunk.line()
                  + ":"
                  + new String(
                      chunk.buffer(),
                      chunk.start(),
                      chunk.end() - chunk.start(),
                      StandardCharsets.UTF_8));
          offset = chunk.nextOffset();
          line = chunk.nextLine();
        }
      }
    }
    return found;
  }

  private InputFile file(String name, String text) throws IOException {
    return new InputFile(name, Files.writeString(dir.resolve(name), text));
  }
}
