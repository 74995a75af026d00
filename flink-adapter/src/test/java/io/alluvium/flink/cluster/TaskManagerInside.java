package io.alluvium.flink.cluster;

import java.io.IOException;
import java.util.regex.Pattern;

/** What a look into the JVM of a TaskManager shows of jobs. Confined to one thread. */
final class TaskManagerInside {

  private static final Pattern OWN_THREAD = Pattern.compile("(?m)^\"alluvium-");
  private static final Pattern USER_CLASS_LOADER = Pattern.compile("\\.ChildFirstClassLoader\\b");

  /**
   * Jobs whose classes the JDK itself keeps, with Flink's own state backends as well: those of the
   * first job that asks the JobManager for something were on the stack when the one thread of
   * {@code CompletableFuture}'s timeouts started; those of the newest job with records are in the
   * cache of a method handle (in Java 17).
   */
  static final int KEPT_BY_THE_JDK = 2;

  private final ProcessCluster cluster;
  private final String name;

  TaskManagerInside(ProcessCluster cluster, String name) {
    this.cluster = cluster;
    this.name = name;
  }

  /** Threads that Alluvium started. */
  long ownThreads() throws IOException, InterruptedException {
    return OWN_THREAD.matcher(cluster.jcmd(name, "Thread.print")).results().count();
  }

  /** Class loaders of jobs that are not yet collected. */
  long userClassLoaders() throws IOException, InterruptedException {
    cluster.jcmd(name, "GC.run");
    return USER_CLASS_LOADER.matcher(cluster.jcmd(name, "VM.classloader_stats")).results().count();
  }

  /** Until the threads of jobs that have ended have, and their classes are gone. */
  void awaitNothingLeft() throws IOException, InterruptedException {
    cluster.await("the end of Alluvium's threads", () -> ownThreads() == 0);
    cluster.await("the end of the jobs' classes", () -> userClassLoaders() <= KEPT_BY_THE_JDK);
  }
}
