package io.alluvium.cli.job;

import java.util.List;
import java.util.Map;

/** What a job does with the elements of one subtask's keys. Confined to the task thread. */
public interface Operator {

  /** Takes lines for the job's transactional output. */
  interface Output {
    /** Adds a line, without its line feed. */
    void line(String line);
  }

  /** Takes an element of a key that the subtask owns. */
  void process(Element element);

  /** No element with an event time below this is expected; never goes back. */
  void advanceTo(long watermark);

  /** Emits what is held in memory only, so that the checkpoint holds it. */
  void beforeCheckpoint();

  /** What was counted since the operator was made, by name; the sums over subtasks are reported. */
  Map<String, Long> counters();

  /** The subtask's final results, sorted by {@link ResultRow}'s order; empty for most jobs. */
  List<ResultRow> results();
}
