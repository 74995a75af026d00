package io.alluvium.internal.backend;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.CoreOptions;
import io.alluvium.internal.backend.ProcessDirectories.Chain;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** Another process that uses local directories. Confined to one thread. */
final class LocalDirectoriesProcess {

  /** What it does; the root is the second argument, an empty one means the default. */
  enum Action {
    /** Opens directories and closes them. */
    CLOSE,
    /** Opens directories and ends as if it were killed. */
    HALT,
    /** Uses what is kept for local recovery, for very long, and ends as if it were killed. */
    RECOVER_AND_HALT,
    /** Opens and closes directories many times, in several threads. */
    STORM
  }

  static final int STORM_THREADS = 4;
  static final int STORM_ROUNDS = 200;

  private static final KeyGroupRange RANGE = new KeyGroupRange(0, 4);

  static final Chain CHAIN = new Chain("kept", "file:///kept");
  static final Duration LONG_AGO = Duration.ofDays(365);

  private LocalDirectoriesProcess() {}

  /** The directory of all subtasks, of which this is one's. */
  static Path chainOf(Path kept) {
    return Objects.requireNonNull(kept.getParent(), "below a root");
  }

  /** Makes a directory look as if it was last changed some time ago. */
  static void age(Path directory, Duration age) throws IOException {
    Path unused = Files.setLastModifiedTime(directory, FileTime.from(Instant.now().minus(age)));
  }

  /** What a process came to. */
  record Ended(int status, String said) {}

  public static void main(String[] arguments) {
    List<LocalRoot> roots = roots(arguments[1]);
    try {
      switch (Action.valueOf(arguments[0])) {
        case CLOSE -> openAndClose(roots);
        case HALT -> {
          Path unused = new ProcessDirectories(roots).table(RANGE);
          Runtime.getRuntime().halt(0);
        }
        case RECOVER_AND_HALT -> {
          age(chainOf(new ProcessDirectories(roots).recovery(CHAIN, RANGE)), LONG_AGO);
          Runtime.getRuntime().halt(0);
        }
        case STORM -> storm(roots);
      }
    } catch (StateBackendException | IOException e) {
      System.out.println(e.getMessage());
      System.exit(3);
    }
  }

  private static List<LocalRoot> roots(String root) {
    return LocalRoot.of(
        Configuration.of(
            Map.of("state.checkpoints.dir", "memory:", CoreOptions.LOCAL_DIRECTORIES.key(), root),
            CoreOptions.ALL));
  }

  static void openAndClose(List<LocalRoot> roots) {
    try (ProcessDirectories directories = new ProcessDirectories(roots)) {
      Path table = directories.table(RANGE);
      if (!Files.isDirectory(table)) {
        throw new AssertionError("'" + table + "' is gone while its process lives");
      }
    }
  }

  /** Ends with the first failure of any thread. */
  static void storm(List<LocalRoot> roots) {
    List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < STORM_THREADS; t++) {
      Thread thread =
          new Thread(
              () -> {
                for (int i = 0; i < STORM_ROUNDS; i++) {
                  openAndClose(roots);
                }
              },
              "storm-" + t);
      thread.setUncaughtExceptionHandler((failed, failure) -> failures.add(failure));
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
    if (!failures.isEmpty()) {
      throw new AssertionError("a thread failed", failures.get(0));
    }
  }

  /** Starts one; what it prints goes to {@code said}. */
  static Process start(List<String> command, Path said) throws IOException {
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(said.toFile())
        .start();
  }

  static Ended end(Process process, Path said) throws Exception {
    if (!process.waitFor(2, TimeUnit.MINUTES)) {
      process.destroyForcibly();
      throw new AssertionError("it did not end: " + Files.readString(said));
    }
    return new Ended(process.exitValue(), Files.readString(said, StandardCharsets.UTF_8).strip());
  }

  static List<String> command(String classPath, List<String> options, Action action, String root) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-XX:TieredStopAtLevel=1",
            "-Xmx64m",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"));
    command.addAll(options);
    command.addAll(
        List.of("-cp", classPath, LocalDirectoriesProcess.class.getName(), action.name(), root));
    return command;
  }
}
