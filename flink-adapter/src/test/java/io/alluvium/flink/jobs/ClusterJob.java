package io.alluvium.flink.jobs;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One job for a real cluster: its jar, its arguments, and whether its lines are right. Immutable.
 *
 * @param jar holds this package, as a user's jar holds a job
 */
public record ClusterJob(Path jar, Job job, long seed, long events, Path directory) {

  /** The class to run. */
  public static final String MAIN = "io.alluvium.flink.jobs.JobMain";

  private static final long EVENTS = 240_000;
  private static final int EVENTS_PER_SECOND_AND_READER = 400;
  private static final long SEED = 20;

  /**
   * A job with timers and all kinds of state, whose output goes below a directory.
   *
   * @param libraries jars that the job's jar holds as well
   */
  public static ClusterJob of(Path directory, List<Path> libraries) throws IOException {
    Path jar = directory.resolve("job.jar");
    writeJar(jar, libraries);
    return new ClusterJob(jar, Job.TIMERS, SEED, EVENTS, directory);
  }

  private static void writeJar(Path jar, List<Path> libraries) throws IOException {
    Path root;
    try {
      root = Path.of(ClusterJob.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (java.net.URISyntaxException e) {
      throw new IOException("no place of the job's classes", e);
    }
    Path own = root.resolve(ClusterJob.class.getPackageName().replace('.', '/'));
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream jarOut = new JarOutputStream(out);
        Stream<Path> classes = Files.list(own)) {
      for (Path file : classes.filter(path -> path.toString().endsWith(".class")).toList()) {
        jarOut.putNextEntry(new JarEntry(root.relativize(file).toString()));
        Files.copy(file, jarOut);
        jarOut.closeEntry();
      }
      for (Path library : libraries) {
        copyEntries(library, jarOut);
      }
    }
  }

  private static void copyEntries(Path library, JarOutputStream out) throws IOException {
    try (JarFile jar = new JarFile(library.toFile())) {
      for (JarEntry entry : jar.stream().filter(found -> !found.isDirectory()).toList()) {
        if (!entry.getName().equals(JarFile.MANIFEST_NAME)) {
          out.putNextEntry(new JarEntry(entry.getName()));
          try (InputStream in = jar.getInputStream(entry)) {
            in.transferTo(out);
          }
          out.closeEntry();
        }
      }
    }
  }

  /** Of {@link JobMain}. */
  public List<String> arguments() {
    return List.of(
        "--job",
        job.name(),
        "--seed",
        String.valueOf(seed),
        "--events",
        String.valueOf(events),
        "--rate",
        String.valueOf(EVENTS_PER_SECOND_AND_READER),
        "--full-speed",
        directory.resolve("full-speed").toString(),
        "--output",
        output().toString());
  }

  private Path output() {
    return directory.resolve("output");
  }

  /** Lets the sources go as fast as they can. */
  public void fullSpeed() throws IOException {
    Files.createFile(directory.resolve("full-speed"));
  }

  /** What came out so far. */
  public Set<String> lines() throws IOException {
    return LinesToFile.read(output());
  }

  /** Lines that came out and that the model does not know; at most some of them. */
  public Set<String> wrong() throws IOException {
    return some(lines(), job.expected(JobMain.traffic(seed, events)));
  }

  /** Checks the output of a job that has ended and gives its number of lines. */
  public int checkComplete() throws IOException {
    Set<String> expected = job.expected(JobMain.traffic(seed, events));
    Set<String> actual = lines();
    Set<String> wrong = some(actual, expected);
    Set<String> missing = some(expected, actual);
    if (!wrong.isEmpty() || !missing.isEmpty()) {
      throw new AssertionError("wrong lines: " + wrong + ", missing lines: " + missing);
    }
    return actual.size();
  }

  private static Set<String> some(Set<String> lines, Set<String> others) {
    return lines.stream()
        .filter(line -> !others.contains(line))
        .limit(20)
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
