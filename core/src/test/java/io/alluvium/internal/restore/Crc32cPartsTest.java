package io.alluvium.internal.restore;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class Crc32cPartsTest {

  @Test
  void join_anySplit_isTheChecksumOfTheWhole() {
    Random random = new Random(1);
    for (int trial = 0; trial < 300; trial++) {
      byte[] whole = new byte[random.nextInt(5_000)];
      random.nextBytes(whole);
      int split = random.nextInt(whole.length + 1);
      int first = FaultyStore.crc32c(Arrays.copyOf(whole, split));
      int second = FaultyStore.crc32c(Arrays.copyOfRange(whole, split, whole.length));
      assertThat(Crc32cParts.join(first, second, whole.length - split))
          .isEqualTo(FaultyStore.crc32c(whole));
    }
  }

  @Test
  void join_partsOfManyGigabytes_isAssociative() {
    int first = FaultyStore.crc32c(new byte[] {1, 2, 3});
    int zeros = FaultyStore.crc32c(new byte[1]);
    for (long length = 1; length <= 1L << 40; length *= 2) {
      int twice = Crc32cParts.join(zeros, zeros, length);
      int inTwoSteps = Crc32cParts.join(Crc32cParts.join(first, zeros, length), zeros, length);
      assertThat(Crc32cParts.join(first, twice, 2 * length)).as("%d", length).isEqualTo(inTwoSteps);
      zeros = twice;
    }
  }
}
