package io.alluvium.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.alluvium.cli.input.JobException;
import io.alluvium.cli.runner.CheckpointRow;
import io.alluvium.cli.runner.RestoreRow;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Starts {@code alluvium} as another process, follows what it says, and kills it. Confined to the
 * main thread.
 */
final class DemoWorker {

  /** Lets the worker get on with the next checkpoint, so that the kill comes in the midst of it. */
  private static final long KILL_DELAY_MILLIS = 400;

  /** What one life of the worker reported. Immutable. */
  record Life(List<CheckpointRow> checkpoints, List<RestoreRow> restores) {}

  private final List<String> arguments;
  private final Map<String, String> environment;
  private final Path work;
  private final PrintWriter err;
  private int lives;

  /**
   * Starts nothing yet.
   *
   * @param environment of the worker, besides this process's own
   */
  DemoWorker(List<String> arguments, Map<String, String> environment, Path work, PrintWriter err) {
    this.environment = environment;
    this.arguments = arguments;
    this.work = work;
    this.err = err;
  }

  /** Kills the worker a moment after it confirmed so many checkpoints. */
  Life runAndKill(int checkpoints) throws IOException {
    return live(checkpoints);
  }

  /** Lets the worker finish. */
  Life runToEnd() throws IOException {
    return live(Integer.MAX_VALUE);
  }

  private Life live(int killAfter) throws IOException {
    lives++;
    Path report = work.resolve("report-" + lives + ".jsonl");
    Files.deleteIfExists(report);
    ProcessBuilder builder =
        new ProcessBuilder(command(report)).directory(work.toFile()).redirectErrorStream(true);
    builder.environment().putAll(environment);
    Process process = builder.start();
    // Nobody is left behind when this process is interrupted.
    Thread hook = new Thread(process::destroyForcibly);
    Runtime.getRuntime().addShutdownHook(hook);
    try {
      boolean killed = follow(process, killAfter);
      int status = process.waitFor();
      if (!killed && (killAfter != Integer.MAX_VALUE || status != 0)) {
        throw new JobException(
            "the demonstration's worker ended by itself with status "
                + status
                + "; its messages are above");
      }
      if (killed) {
        err.println("--- the worker was killed with SIGKILL (exit status " + status + ") ---");
        err.flush();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new JobException("the demonstration was interrupted", e);
    } finally {
      process.destroyForcibly();
      Runtime.getRuntime().removeShutdownHook(hook);
    }
    return read(report);
  }

  /** Passes the worker's messages on; true when it was killed. */
  private boolean follow(Process process, int killAfter) throws IOException, InterruptedException {
    int confirmed = 0;
    try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        err.println("worker " + lives + " | " + line);
        err.flush();
        if (line.startsWith("checkpoint ") && line.contains(" confirmed ")) {
          confirmed++;
        }
        if (confirmed >= killAfter) {
          Thread.sleep(KILL_DELAY_MILLIS);
          if (process.isAlive()) {
            process.destroyForcibly();
            return true;
          }
          return false;
        }
      }
    }
    return false;
  }

  private List<String> command(Path report) {
    List<String> command = new ArrayList<>();
    String java =
        System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
    command.add(ProcessHandle.current().info().command().orElse(java));
    command.add("-XX:+UseG1GC");
    command.add("-XX:+ExitOnOutOfMemoryError");
    command.add("-Dfile.encoding=UTF-8");
    System.getProperties()
        .stringPropertyNames()
        .forEach(
            name -> {
              // Credentials may have been given to this process in that way.
              if (name.startsWith("aws.")) {
                command.add("-D" + name + "=" + System.getProperty(name));
              }
            });
    command.add("-cp");
    command.add(absoluteClassPath());
    command.add(Alluvium.class.getName());
    command.addAll(arguments);
    if (lives == 1) {
      // An earlier demonstration in the same directory is over.
      command.add("--fresh");
    }
    command.add("--report");
    command.add(report.toString());
    return command;
  }

  /** The worker runs in another directory. */
  private static String absoluteClassPath() {
    List<String> entries = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      entries.add(Path.of(entry).toAbsolutePath().toString());
    }
    return String.join(File.pathSeparator, entries);
  }

  private static Life read(Path report) throws IOException {
    List<CheckpointRow> checkpoints = new ArrayList<>();
    List<RestoreRow> restores = new ArrayList<>();
    if (Files.exists(report)) {
      for (String line : Files.readAllLines(report, StandardCharsets.UTF_8)) {
        JsonNode tree = Json.LINES.readTree(line);
        if (tree.has("checkpoint")) {
          checkpoints.add(Json.LINES.treeToValue(tree.get("checkpoint"), CheckpointRow.class));
        } else {
          restores.add(Json.LINES.treeToValue(tree.get("restore"), RestoreRow.class));
        }
      }
    }
    return new Life(checkpoints, restores);
  }
}
