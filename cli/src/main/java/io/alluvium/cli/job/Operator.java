package io.alluvium.cli.job;

import java.util.Map;
import java.util.function.Consumer;

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

  /** Gives the subtask's final results, in any order; most jobs have none. */
  void results(Consumer<ResultRow> out);
}
