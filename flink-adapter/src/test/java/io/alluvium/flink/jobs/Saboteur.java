package io.alluvium.flink.jobs;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;

/** Hands records on and fails where its run says. Confined to the task thread. */
final class Saboteur
    implements MapFunction<Event, Event>, CheckpointedFunction, CheckpointListener {

  private static final long serialVersionUID = 1L;

  private final String run;

  Saboteur(String run) {
    this.run = run;
  }

  @Override
  public Event map(Event event) {
    JobRun.named(run).visit(JobRun.Place.RECORD);
    return event;
  }

  @Override
  public void snapshotState(FunctionSnapshotContext context) {
    JobRun.named(run).visit(JobRun.Place.SNAPSHOT);
  }

  @Override
  public void initializeState(FunctionInitializationContext context) {}

  @Override
  public void notifyCheckpointComplete(long checkpointId) {
    JobRun.named(run).visit(JobRun.Place.NOTIFICATION);
  }
}
