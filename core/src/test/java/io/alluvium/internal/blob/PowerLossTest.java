package io.alluvium.internal.blob;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.alluvium.spi.BlobInfo;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A directory of blobs on a disk that loses changes that were not forced. Every answered call must
 * still hold after a power loss or a kill at any operation.
 */
final class PowerLossTest {

  private static final int STEPS = 30;
  private static final int LIVES = 4;
  private static final List<String> NAMES =
      List.of("slots/1", "slots/2", "log/a/1", "log/a/2", "log/b", "top");

  static Stream<Long> seeds() {
    int seeds = Boolean.getBoolean("alluvium.full") ? 400 : 12;
    return LongStream.range(0, Integer.getInteger("seeds", seeds)).boxed();
  }

  /** Loses the power at each operation of a script in turn, and again in later lives. */
  @ParameterizedTest
  @MethodSource("seeds")
  void powerLoss_atAnyOperation_keepsAnsweredCalls(long seed) {
    long operations = new Script(seed, Long.MAX_VALUE).run();
    assertThat(operations).isGreaterThan(STEPS);
    for (long lossAt = 0; lossAt < operations; lossAt++) {
      long unused = new Script(seed, lossAt).run();
    }
  }

  /** Several lives of a store; each but the last ends with a power loss. */
  private static final class Script {

    private final long seed;
    private final long firstLoss;
    private final Random random;
    private int contents;

    /** The possible contents of each name, null for absent. Only one if the outcome is known. */
    private final Map<String, Set<@Nullable String>> possible = new HashMap<>();

    Script(long seed, long firstLoss) {
      this.seed = seed;
      this.firstLoss = firstLoss;
      this.random = new Random(seed);
      for (String name : NAMES) {
        possible.put(name, known(null));
      }
    }

    private static Set<@Nullable String> known(@Nullable String content) {
      Set<@Nullable String> one = new HashSet<>();
      one.add(content);
      return one;
    }

    /** Returns the number of operations of the first life. */
    long run() {
      ForgetfulDisk disk = new ForgetfulDisk();
      disk.losePowerAt(firstLoss);
      long first = live(disk);
      Random losses = new Random(seed * 31 + firstLoss);
      for (int life = 1; life < LIVES; life++) {
        disk = losses.nextInt(3) == 0 ? disk.afterKill() : disk.afterPowerLoss(losses);
        disk.losePowerAt(life == LIVES - 1 ? Long.MAX_VALUE : losses.nextInt(60));
        long unused = live(disk);
      }
      return first;
    }

    private long live(ForgetfulDisk disk) {
      Path root = ForgetfulFiles.root(disk).resolve("data/store");
      try (LocalDirectoryBlobStore store = new LocalDirectoryBlobStore(root, "file:/data/store")) {
        checkAll(store);
        for (int step = 0; step < STEPS; step++) {
          step(store);
        }
        checkAll(store);
      } catch (ForgetfulDisk.PowerLoss e) {
        // The next life continues with the surviving content.
      }
      return disk.operations();
    }

    private void step(LocalDirectoryBlobStore store) {
      String name = NAMES.get(random.nextInt(NAMES.size()));
      Set<@Nullable String> before = possible.getOrDefault(name, known(null));
      String content = name + " " + contents++ + " ".repeat(random.nextInt(20));
      byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> {
          before.add(content);
          store.put(
              name,
              List.of(ByteBuffer.wrap(bytes, 0, 3), ByteBuffer.wrap(bytes, 3, bytes.length - 3)));
          possible.put(name, known(content));
        }
        case 3, 4 -> {
          if (before.contains(null)) {
            before.add(content);
          }
          if (store.putIfAbsent(name, bytes)) {
            possible.put(name, known(content));
          } else {
            // The name is taken, and durably so.
            before.remove(content);
            before.remove(null);
          }
        }
        case 5, 6 -> {
          before.add(null);
          store.delete(List.of(name));
          possible.put(name, known(null));
        }
        default -> store.deleteLeftovers(Duration.ZERO);
      }
    }

    /** A read makes nothing durable: a name that was not forced may be lost later. */
    private void checkAll(LocalDirectoryBlobStore store) {
      Set<String> listed = new HashSet<>();
      for (BlobInfo blob : store.list("")) {
        assertThat(NAMES).contains(blob.name());
        listed.add(blob.name());
      }
      for (String name : NAMES) {
        OptionalLong size = store.size(name);
        String found =
            size.isEmpty()
                ? null
                : new String(store.read(name, 0, (int) size.getAsLong()), StandardCharsets.UTF_8);
        assertThat(listed.contains(name)).isEqualTo(found != null);
        Set<@Nullable String> allowed = possible.getOrDefault(name, Set.of());
        if (!allowed.contains(found)) {
          fail(
              "seed %s, power lost at operation %s: '%s' holds '%s', possible are %s",
              seed, firstLoss, name, found, new ArrayList<>(allowed));
        }
      }
    }
  }
}
