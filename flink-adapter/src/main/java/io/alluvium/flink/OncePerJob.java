package io.alluvium.flink;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.flink.api.common.JobID;

/**
 * Lets something be said once for each job in a TaskManager, not for each of its subtasks whenever
 * one starts again. Thread-safe.
 */
final class OncePerJob {

  /** So many jobs of a session are remembered. */
  private static final int JOBS = 100;

  @GuardedBy("this")
  private final Set<JobID> jobs = new LinkedHashSet<>();

  synchronized boolean isFirst(JobID job) {
    if (!jobs.add(job)) {
      return false;
    }
    if (jobs.size() > JOBS) {
      jobs.remove(jobs.iterator().next());
    }
    return true;
  }
}
