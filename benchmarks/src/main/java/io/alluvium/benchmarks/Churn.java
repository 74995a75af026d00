package io.alluvium.benchmarks;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Measures whether memory stays within its configured bounds. Writes and deletes over a changing
 * set of keys for minutes, with checkpoints each second and materializations each 30 seconds.
 * Prints the resident set of the process every minute, and at the end its ratio to that after the
 * first minute.
 *
 * <p>Argument: minutes. Linux only (reads /proc/self/status).
 */
public final class Churn {

  private static final int LIVE_KEYS = 500_000;
  private static final int VALUE_BYTES = 200;

  private Churn() {}

  public static void main(String[] args) throws IOException {
    PrintStream out = System.out;
    if (args.length != 1) {
      out.println("usage: Churn MINUTES");
      System.exit(2);
    }
    int minutes = Integer.parseInt(args[0]);
    Scratch scratch = new Scratch();
    Path directory = scratch.make();
    try (StateBackend backend =
        StateBackend.open(
            Map.of(
                "state.checkpoints.dir", directory.resolve("checkpoints").toUri().toString(),
                "state.backend.rocksdb.localdir", directory.resolve("local").toString(),
                "state.backend.changelog.periodic-materialize.interval", "30s"))) {
      backend.catalog().takeOver("churn");
      KeyedBackend<Long> keyed = backend.keyed(Serializers.int64(), 128, new KeyGroupRange(0, 128));
      ValueState<byte[]> state = keyed.state(StateDescriptor.value("value", Serializers.bytes()));
      long first = 0;
      long last = 0;
      long id = 0;
      long start = System.nanoTime();
      long newest = 0;
      SplittableRandom random = new SplittableRandom(5);
      for (int minute = 1; minute <= minutes; minute++) {
        long records = 0;
        for (int second = 1; second <= 60; second++) {
          long end = start + ((minute - 1) * 60L + second) * 1_000_000_000L;
          while (System.nanoTime() < end) {
            keyed.setCurrentKey(newest++);
            state.update(new byte[VALUE_BYTES]);
            keyed.setCurrentKey(Math.max(0, newest - 1 - random.nextInt(LIVE_KEYS)));
            byte[] value = state.value();
            if (value != null) {
              state.update(value);
            }
            keyed.setCurrentKey(Math.max(0, newest - LIVE_KEYS));
            state.clear();
            records++;
          }
          CheckpointHandle handle = keyed.checkpoint(++id).join();
          backend.catalog().commit(id, List.of(handle), new byte[0]);
          keyed.confirm(id);
        }
        last = residentKilobytes();
        first = first == 0 ? last : first;
        out.printf(
            Locale.ROOT, "minute %2d: %,d records, resident %,d KB%n", minute, records, last);
      }
      out.printf(
          Locale.ROOT,
          "resident at the end / after the first minute: %.3f%n",
          last / (double) first);
    } finally {
      scratch.delete();
    }
  }

  private static long residentKilobytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) {
        return Long.parseLong(line.replaceAll("\\D+", ""));
      }
    }
    throw new IOException("/proc/self/status has no line VmRSS");
  }
}
