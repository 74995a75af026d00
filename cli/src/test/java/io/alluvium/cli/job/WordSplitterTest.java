package io.alluvium.cli.job;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class WordSplitterTest {
  @Test
  void words_areRunsOfLettersAndDigits() {
    assertThat(words("In the beginning, God's 7 days--end_of x2"))
        .containsExactly("in", "the", "beginning", "god", "s", "7", "days", "end", "of", "x2");
  }

  @Test
  void words_atTheEdges_areWhole() {
    assertThat(words("a")).containsExactly("a");
    assertThat(words("  ")).isEmpty();
    assertThat(words("")).isEmpty();
  }

  @Test
  void words_beyondTheBasicPlane_areCodePoints() {
    // DESERET CAPITAL LETTER LONG I and its lower case, MATHEMATICAL BOLD DIGIT ONE, an emoji.
    assertThat(words("x\uD801\uDC00y \uD835\uDFCF \uD83D\uDE00z"))
        .containsExactly("x\uD801\uDC28y", "\uD835\uDFCF", "z");
  }

  @Test
  void words_areLoweredAsWords_notByCharacter() {
    // A final sigma has its own form; the dotted capital I becomes two code points.
    assertThat(words("ΟΔΟΣ ΣΑΣ İ")).containsExactly("οδος", "σας", "i\u0307");
  }

  @Test
  void words_brokenUtf8_separates() {
    byte[] line = {'a', (byte) 0xff, 'b', (byte) 0xc3};
    assertThat(words(line)).containsExactly("a", "b");
  }

  @Test
  void words_ofAnyLength_areOneWord() {
    String longWord = "x".repeat(1 << 20);
    assertThat(words(longWord + " y")).containsExactly(longWord, "y");
  }

  private static List<String> words(String line) {
    return words(line.getBytes(StandardCharsets.UTF_8));
  }

  private static List<String> words(byte[] line) {
    List<String> words = new ArrayList<>();
    new WordSplitter().parse(line, 0, line.length, (word, time, value) -> words.add(word));
    return words;
  }
}
