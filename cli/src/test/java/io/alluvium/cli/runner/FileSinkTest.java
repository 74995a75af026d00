package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.cli.input.JobException;
import io.alluvium.spi.Incarnation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FileSinkTest {
  private static final Incarnation FIRST = new Incarnation(0, 1);
  private static final Incarnation SECOND = new Incarnation(0, 2);
  private static final Incarnation THIRD = new Incarnation(0, 3);

  @TempDir Path dir;

  @Test
  void output_isVisibleOnlyOnceCommitted_andCommittingTwiceIsHarmless() throws IOException {
    try (FileSink sink = new FileSink(dir, FIRST)) {
      SinkWriter writer = sink.writer(3);
      writer.line("a\t1");
      writer.line("b\t2");
      assertThat(visible()).isEmpty();
      Transaction transaction = writer.prepare(7).join().orElseThrow();
      assertThat(visible()).isEmpty();
      sink.commit(List.of(transaction));
      sink.commit(List.of(transaction));
      assertThat(visible()).containsExactly("part-3-7.tsv");
      assertThat(dir.resolve("part-3-7.tsv")).hasContent("a\t1\nb\t2\n");
      assertThat(names()).containsExactly("part-3-7.tsv");
    }
  }

  @Test
  void prepare_nothingWritten_isNoTransaction() {
    try (FileSink sink = new FileSink(dir, FIRST)) {
      assertThat(sink.writer(0).prepare(1).join()).isEqualTo(Optional.empty());
    }
  }

  @Test
  void commit_fileThatIsGone_isTold() {
    try (FileSink sink = new FileSink(dir, FIRST)) {
      assertThatThrownBy(() -> sink.commit(List.of(Transaction.of(0, 1, FIRST))))
          .isInstanceOf(JobException.class)
          .hasMessageContaining("part-0-1.tsv' is missing, though a confirmed checkpoint lists it");
    }
  }

  @Test
  void recover_commitsWhatIsListed_rollsBackOlderOwnersOnly() throws IOException {
    Transaction listed;
    try (FileSink first = new FileSink(dir, FIRST)) {
      SinkWriter writer = first.writer(0);
      writer.line("listed");
      listed = writer.prepare(1).join().orElseThrow();
      writer.line("not listed");
      writer.prepare(2).join();
      writer.line("open");
      writer.close();
    }
    try (FileSink third = new FileSink(dir, THIRD)) {
      SinkWriter writer = third.writer(0);
      writer.line("of a later owner");
      writer.prepare(2).join();
    }
    // Owners that were killed while they sorted their results.
    for (Incarnation killed : List.of(FIRST, THIRD)) {
      Path results = Files.createDirectory(dir.resolve(".results." + killed));
      Files.writeString(results.resolve("0-0"), "x");
    }
    try (FileSink second = new FileSink(dir, SECOND)) {
      second.recover(1, List.of(listed), FIRST::equals);
    }
    assertThat(names())
        .containsExactly(
            Transaction.of(0, 2, THIRD).hiddenName(), ".results." + THIRD, "part-0-1.tsv");
    assertThat(dir.resolve("part-0-1.tsv")).hasContent("listed\n");
  }

  @Test
  void recover_removesOutputOfAnEarlierLife_andLeavesOtherFilesAlone() throws IOException {
    for (String name : new String[] {"part-0-4.tsv", "part-1-5.tsv", "part-x.tsv", "mine.txt"}) {
      Files.writeString(dir.resolve(name), "x");
    }
    try (FileSink sink = new FileSink(dir, FIRST)) {
      sink.recover(5, List.of(), incarnation -> true);
    }
    assertThat(names()).containsExactly("mine.txt", "part-1-5.tsv", "part-x.tsv");
    assertThat(FileSink.greatestCheckpoint(dir)).isEqualTo(5);
  }

  @Test
  void prepare_afterASuccessorRolledBack_saysSo() throws IOException {
    try (FileSink zombie = new FileSink(dir, FIRST);
        FileSink successor = new FileSink(dir, SECOND)) {
      SinkWriter writer = zombie.writer(0);
      writer.line("too late");
      successor.recover(1, List.of(), FIRST::equals);
      assertThatThrownBy(() -> writer.prepare(1).join())
          .hasRootCauseInstanceOf(java.nio.file.NoSuchFileException.class)
          .hasMessageContaining("another process has taken over the job");
    }
  }

  private List<String> visible() {
    return FileSink.visibleFiles(dir).stream().sorted().toList();
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(dir)) {
      return files.map(file -> String.valueOf(file.getFileName())).sorted().toList();
    }
  }
}
