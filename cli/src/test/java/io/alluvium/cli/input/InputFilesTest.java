package io.alluvium.cli.input;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class InputFilesTest {
  @TempDir Path dir;
  private Path output;

  @BeforeEach
  void setUp() {
    output = dir.resolve("out");
  }

  @Test
  void find_directory_takesFilesByName_butNotHiddenOnesNorTheOutput() throws IOException {
    write("b.txt", "b");
    write("a/x.txt", "x");
    write(".hidden", "h");
    write(".git/config", "c");
    write("out/counts.tsv", "o");
    assertThat(InputFiles.find(List.of(dir), output))
        .extracting(InputFile::name)
        .containsExactly("a/x.txt", "b.txt");
  }

  @Test
  void find_missingFile_namesIt() {
    Path missing = dir.resolve("missing.txt");
    assertThatThrownBy(() -> InputFiles.find(List.of(missing), output))
        .isInstanceOf(JobException.class)
        .hasMessage("input '" + missing + "' does not exist; check --input");
  }

  @Test
  void find_emptyDirectory_namesIt() throws IOException {
    Path empty = Files.createDirectory(dir.resolve("empty"));
    assertThatThrownBy(() -> InputFiles.find(List.of(empty), output))
        .hasMessage("input directory '" + empty + "' holds no files; check --input");
  }

  @Test
  void find_inputWithinTheOutput_saysSo() throws IOException {
    Path both = Files.createDirectory(dir.resolve("both"));
    Files.writeString(both.resolve("a.txt"), "text");
    assertThatThrownBy(() -> InputFiles.find(List.of(both), both))
        .hasMessageContainingAll("'" + both + "' lies within the output directory", "--output");
  }

  @Test
  void find_compressedFile_namesWhatUnpacksIt() throws IOException {
    Path file = dir.resolve("in.csv.gz");
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
      out.write("a,b\n1,2\n".getBytes(StandardCharsets.UTF_8));
    }
    assertThatThrownBy(() -> InputFiles.find(List.of(file), output))
        .isInstanceOf(JobException.class)
        .hasMessageContainingAll("'" + file + "' is compressed", "gunzip");
  }

  @Test
  void checkUnchanged_sameContentElsewhere_isAccepted() throws IOException {
    List<Fingerprint> before = List.of(InputFiles.fingerprint(write("a.txt", "text")));
    InputFiles.checkUnchanged(List.of(write("moved/a.txt", "text")), before);
  }

  @Test
  void checkUnchanged_otherBytesOfTheSameSize_areRefused() throws IOException {
    List<Fingerprint> before = List.of(InputFiles.fingerprint(write("a.txt", "text")));
    InputFile changed = write("a.txt", "texT");
    assertThatThrownBy(() -> InputFiles.checkUnchanged(List.of(changed), before))
        .hasMessageContaining("the input changed since the job started: the content of input file")
        .hasMessageContaining("start over with --fresh");
  }

  @Test
  void checkUnchanged_longerOrOneMore_isRefused() throws IOException {
    InputFile file = write("a.txt", "text");
    List<Fingerprint> before = List.of(InputFiles.fingerprint(file));
    InputFile longer = write("a.txt", "text and more");
    assertThatThrownBy(() -> InputFiles.checkUnchanged(List.of(longer), before))
        .hasMessageContaining("had 4 bytes, now it has 13");
    assertThatThrownBy(() -> InputFiles.checkUnchanged(List.of(file, file), before))
        .hasMessageContaining("it started with 1 input files, now there are 2");
  }

  private InputFile write(String name, String text) throws IOException {
    Path file = dir.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
    return new InputFile(String.valueOf(file.getFileName()), file);
  }
}
