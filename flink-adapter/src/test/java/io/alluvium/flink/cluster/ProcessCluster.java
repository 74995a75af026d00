package io.alluvium.flink.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A JobManager and its TaskManagers as processes of this machine, from Flink's published jars, and
 * Flink's command line. Confined to one thread; ends its processes when closed.
 */
final class ProcessCluster implements AutoCloseable {

  private static final String JOB_MANAGER =
      "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint";
  private static final String TASK_MANAGER =
      "org.apache.flink.runtime.taskexecutor.TaskManagerRunner";
  private static final String COMMAND_LINE = "org.apache.flink.client.cli.CliFrontend";
  private static final Duration TIMEOUT = Duration.ofMinutes(3);
  private static final long POLL_MILLIS = 200;

  /** Flink's command line opens parts of the JDK for its serializers; so do we. */
  private static final List<String> OPENS =
      Stream.of("java.lang", "java.util", "java.util.concurrent", "java.net", "java.nio", "java.io")
          .flatMap(name -> Stream.of("--add-opens", "java.base/" + name + "=ALL-UNNAMED"))
          .toList();

  private final Path directory;
  private final String classPath;
  private final URI rest;
  private final List<Socket> ports;
  private final HttpClient http = HttpClient.newHttpClient();
  private final Map<String, Process> processes = new LinkedHashMap<>();
  private int startedTaskManagers;
  private int commands;

  private ProcessCluster(Path directory, String classPath, URI rest, List<Socket> ports) {
    this.ports = ports;
    this.directory = directory;
    this.classPath = classPath;
    this.rest = rest;
  }

  /**
   * Starts a JobManager.
   *
   * @param classPath Flink's jars and whatever stands in {@code lib/}
   * @param settings more of Flink's configuration
   */
  static ProcessCluster start(Path directory, String classPath, Map<String, String> settings)
      throws IOException {
    Socket rest = reserved();
    Socket rpc = reserved();
    int restPort = rest.getLocalPort();
    Map<String, String> all = new TreeMap<>();
    all.put("jobmanager.rpc.address", "127.0.0.1");
    all.put("jobmanager.rpc.port", String.valueOf(rpc.getLocalPort()));
    all.put("jobmanager.bind-host", "127.0.0.1");
    all.put("rest.address", "127.0.0.1");
    all.put("rest.bind-address", "127.0.0.1");
    all.put("rest.port", String.valueOf(restPort));
    all.put("rest.bind-port", String.valueOf(restPort));
    all.put("taskmanager.host", "127.0.0.1");
    all.put("taskmanager.bind-host", "127.0.0.1");
    all.put("taskmanager.numberOfTaskSlots", "2");
    all.put("taskmanager.cpu.cores", "1");
    all.put("taskmanager.memory.task.heap.size", "192m");
    all.put("taskmanager.memory.task.off-heap.size", "0m");
    all.put("taskmanager.memory.framework.heap.size", "64m");
    all.put("taskmanager.memory.framework.off-heap.size", "64m");
    all.put("taskmanager.memory.managed.size", "128m");
    all.put("taskmanager.memory.network.min", "32m");
    all.put("taskmanager.memory.network.max", "32m");
    all.put("taskmanager.memory.jvm-metaspace.size", "256m");
    all.put("taskmanager.memory.jvm-overhead.min", "128m");
    all.put("taskmanager.memory.jvm-overhead.max", "128m");
    all.put("heartbeat.interval", "1000");
    // Of a process that is killed Flink knows sooner: its port refuses the heartbeats.
    all.put("heartbeat.timeout", "30000");
    all.put("io.tmp.dirs", Files.createDirectories(directory.resolve("tmp")).toString());
    all.putAll(settings);
    Files.createDirectories(directory.resolve("log"));
    StringBuilder yaml = new StringBuilder();
    all.forEach((key, value) -> yaml.append(key).append(": \"").append(value).append("\"\n"));
    Path configuration = Files.createDirectories(directory.resolve("conf"));
    Files.writeString(configuration.resolve("config.yaml"), yaml);
    ProcessCluster cluster =
        new ProcessCluster(
            directory,
            classPath,
            URI.create("http://127.0.0.1:" + restPort + "/"),
            List.of(rest, rpc));
    cluster.launch("jobmanager", JOB_MANAGER, "256m", List.of());
    return cluster;
  }

  /**
   * A port that nothing else is given as long as this is open: bound, not listening. Only a server
   * that names it may listen there, because both allow addresses to be used again.
   */
  private static Socket reserved() throws IOException {
    Socket socket = new Socket();
    socket.setReuseAddress(true);
    socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    return socket;
  }

  /** Starts one more TaskManager, of two slots, and gives its name. */
  String startTaskManager() throws IOException {
    String name = "taskmanager-" + ++startedTaskManagers;
    launch(name, TASK_MANAGER, "256m", List.of("-D", "taskmanager.resource-id=" + name));
    return name;
  }

  private Process launch(String name, String main, String heap, List<String> arguments)
      throws IOException {
    List<String> command = new ArrayList<>(javaCommand(heap));
    command.add(main);
    command.add("--configDir");
    command.add(directory.resolve("conf").toString());
    command.addAll(arguments);
    Process process = start(name, command);
    processes.put(name, process);
    return process;
  }

  private List<String> javaCommand(String heap) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-XX:+UseSerialGC");
    command.add("-XX:TieredStopAtLevel=1");
    command.add("-Xmx" + heap);
    // Softly held classes go with a collection, so that a leak of them can be told.
    command.add("-XX:SoftRefLRUPolicyMSPerMB=0");
    command.addAll(OPENS);
    command.add("-Dorg.slf4j.simpleLogger.defaultLogLevel=info");
    command.add("-cp");
    command.add(classPath);
    return command;
  }

  private Process start(String name, List<String> command) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("FLINK_CONF_DIR", directory.resolve("conf").toString());
    builder.redirectErrorStream(true);
    builder.redirectOutput(log(name).toFile());
    return builder.start();
  }

  private Path log(String name) {
    return directory.resolve("log").resolve(name + ".log");
  }

  /** Ends a process with SIGKILL. */
  void kill(String name) throws InterruptedException {
    Process process = processes.get(name);
    if (process == null) {
      throw new IllegalArgumentException("no process " + name + " among " + processes.keySet());
    }
    process.destroyForcibly().waitFor();
    processes.remove(name);
  }

  /** Runs Flink's command line and gives what it printed. */
  String flink(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(javaCommand("256m"));
    command.add(COMMAND_LINE);
    command.addAll(List.of(arguments));
    String name = "command-" + ++commands + "-" + arguments[0];
    Process process = start(name, command);
    if (!process.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw failure("'flink " + arguments[0] + "' took longer than " + TIMEOUT, name);
    }
    if (process.exitValue() != 0) {
      throw failure("'flink " + arguments[0] + "' ended with " + process.exitValue(), name);
    }
    return Files.readString(log(name));
  }

  /** Runs a command of the JDK's {@code jcmd} on a process and gives what it printed. */
  String jcmd(String name, String... command) throws IOException, InterruptedException {
    Process asked = processes.get(name);
    if (asked == null) {
      throw new IllegalArgumentException("no process " + name + " among " + processes.keySet());
    }
    List<String> whole = new ArrayList<>();
    whole.add(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString());
    whole.add(String.valueOf(asked.pid()));
    whole.addAll(List.of(command));
    Process process = new ProcessBuilder(whole).redirectErrorStream(true).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw failure("'jcmd " + command[0] + "' failed: " + printed, name);
    }
    return printed;
  }

  /** The answer of Flink's REST interface, or null when there is none yet. */
  @Nullable String get(String path) throws InterruptedException {
    try {
      HttpResponse<String> response =
          http.send(
              HttpRequest.newBuilder(rest.resolve(path)).timeout(Duration.ofSeconds(10)).build(),
              HttpResponse.BodyHandlers.ofString());
      return response.statusCode() == 200 ? response.body() : null;
    } catch (IOException e) {
      return null;
    }
  }

  /** Something to wait for. */
  interface Condition {
    boolean holds() throws IOException, InterruptedException;
  }

  /** Waits; fails with the newest lines of all logs. */
  void await(String what, Condition condition) throws IOException, InterruptedException {
    long deadline = System.nanoTime() + TIMEOUT.toNanos();
    while (!condition.holds()) {
      for (Map.Entry<String, Process> process : processes.entrySet()) {
        if (!process.getValue().isAlive()) {
          throw failure(process.getKey() + " ended while waiting for " + what, process.getKey());
        }
      }
      if (System.nanoTime() > deadline) {
        throw failure(
            "waited longer than " + TIMEOUT + " for " + what,
            processes.keySet().toArray(new String[0]));
      }
      Thread.sleep(POLL_MILLIS);
    }
  }

  /** An error that carries the ends of logs. */
  AssertionError failure(String message, String... logs) {
    StringBuilder text = new StringBuilder(message);
    for (String name : logs) {
      try {
        List<String> lines = Files.readAllLines(log(name));
        text.append("\n--- ").append(name).append('\n');
        lines
            .subList(Math.max(0, lines.size() - 60), lines.size())
            .forEach(line -> text.append(line).append('\n'));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return new AssertionError(text.toString());
  }

  @Override
  public void close() {
    processes.values().forEach(Process::destroyForcibly);
    for (Process process : processes.values()) {
      process.onExit().join();
    }
    processes.clear();
    for (Socket port : ports) {
      try {
        port.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
