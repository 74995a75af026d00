package io.alluvium.testkit.kill;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs a program repeatedly, each time until SIGKILL at a seeded moment, and finally to its end.
 * Collects the checkpoints that it acknowledged, so that a test can compare them with the surviving
 * state. Confined to one thread.
 */
public final class KillHarness {

  /**
   * The moment of the kill: a random time below {@code delay} after a random number of checkpoints
   * below {@code acknowledgements} was acknowledged. Both are drawn for each round.
   */
  public record Moments(int acknowledgements, Duration delay) {}

  /**
   * One run of the program.
   *
   * @param acknowledged checkpoints, in the order in which they were acknowledged
   * @param killed false if the program ended before the moment of the kill
   * @param exitStatus of the operating system
   * @param output everything that the program printed, standard error included
   */
  public record Round(
      List<Long> acknowledged, boolean killed, int exitStatus, List<String> output) {

    @Override
    public String toString() {
      return (killed ? "killed" : "ended with status " + exitStatus)
          + " after checkpoints "
          + acknowledged
          + "; its output:\n"
          + String.join("\n", output);
    }
  }

  private final List<String> command;
  private final Path directory;
  private final Pattern acknowledgement;
  private final Duration timeout;
  private final Random random;

  /**
   * @param command program and arguments, see {@link #java}
   * @param directory working directory
   * @param acknowledgement matches lines that acknowledge a checkpoint; the first group is its id
   * @param timeout for one run; a program that takes longer is killed and fails the test
   */
  public KillHarness(
      List<String> command,
      Path directory,
      Pattern acknowledgement,
      Duration timeout,
      Random random) {
    this.command = List.copyOf(command);
    this.directory = directory;
    this.acknowledgement = acknowledgement;
    this.timeout = timeout;
    this.random = random;
  }

  /** The command that runs a main class with the JVM and the class path of this process. */
  public static List<String> java(List<String> options, String mainClass, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
    command.addAll(options);
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(mainClass);
    command.addAll(arguments);
    return command;
  }

  /** Starts the program and kills it at a random moment, unless it ends before. */
  public Round kill(Moments moments) {
    int acknowledgements = random.nextInt(Math.max(1, moments.acknowledgements));
    long delayNanos = (long) (random.nextDouble() * moments.delay.toNanos());
    return live(acknowledgements, delayNanos);
  }

  /** Starts the program and kills it right after it has acknowledged that many checkpoints. */
  public Round killAfter(int acknowledgements) {
    return live(acknowledgements, 0);
  }

  /** Starts the program and waits for its end. */
  public Round finish() {
    return live(Integer.MAX_VALUE, 0);
  }

  private Round live(int acknowledgements, long delayNanos) {
    long deadline = System.nanoTime() + timeout.toNanos();
    Process process = start();
    Output output = new Output(process, acknowledgements);
    output.start();
    boolean killed = false;
    try {
      if (output.reached.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)
          && acknowledgements != Integer.MAX_VALUE) {
        killed = !process.waitFor(delayNanos, TimeUnit.NANOSECONDS);
      }
      if (killed) {
        // Process.destroyForcibly would close the output before all of it is read.
        boolean unused = process.toHandle().destroyForcibly();
      }
      boolean ended = process.waitFor(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
      if (!ended) {
        process.destroyForcibly();
      }
      output.join();
      Round round = output.round(killed, process.waitFor());
      if (!ended) {
        throw new AssertionError("the program did not end within " + timeout + ": " + round);
      }
      return round;
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }

  private Process start() {
    try {
      return new ProcessBuilder(command)
          .directory(directory.toFile())
          .redirectErrorStream(true)
          .start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Reads the output of the program. Its lists are read only after join. */
  private final class Output extends Thread {
    private final Process process;
    private final int wanted;
    private final CountDownLatch reached = new CountDownLatch(1);
    private final List<Long> acknowledged = Collections.synchronizedList(new ArrayList<>());
    private final List<String> lines = Collections.synchronizedList(new ArrayList<>());

    private Output(Process process, int wanted) {
      super("kill-harness-output");
      this.process = process;
      this.wanted = wanted;
      setDaemon(true);
      if (wanted == 0) {
        reached.countDown();
      }
    }

    @Override
    public void run() {
      try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
          lines.add(line);
          Matcher matcher = acknowledgement.matcher(line);
          if (matcher.find()) {
            acknowledged.add(Long.parseLong(matcher.group(1)));
            if (acknowledged.size() >= wanted) {
              reached.countDown();
            }
          }
        }
      } catch (IOException e) {
        lines.add("(the output ends: " + e.getMessage() + ")");
      }
      reached.countDown();
    }

    private Round round(boolean killed, int exitStatus) {
      return new Round(List.copyOf(acknowledged), killed, exitStatus, List.copyOf(lines));
    }
  }
}
