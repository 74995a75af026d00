package io.alluvium.cli.job;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class CodePointsTest {
  @Test
  void compare_supplementary_comesAfterTheWholeBasicPlane() {
    assertThat(CodePoints.compare("\uFFFD", "\uD800\uDC00")).isNegative();
    assertThat("\uFFFD".compareTo("\uD800\uDC00")).as("String's own order").isPositive();
  }

  /** UTF-8 was made so that its bytes sort like the code points. */
  @Test
  void compare_randomStrings_isTheOrderOfUtf8() {
    int[] points = {'a', 'b', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
    Random random = new Random(7);
    for (int i = 0; i < 20_000; i++) {
      String a = randomString(points, random);
      String b = randomString(points, random);
      int expected =
          Arrays.compareUnsigned(
              a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));
      assertThat(Integer.signum(CodePoints.compare(a, b)))
          .as("%s and %s", a, b)
          .isEqualTo(Integer.signum(expected));
    }
  }

  private static String randomString(int[] points, Random random) {
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(4); i > 0; i--) {
      text.appendCodePoint(points[random.nextInt(points.length)]);
    }
    return text.toString();
  }
}
