package io.alluvium.flink;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.JobID;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManager;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManager.SubtaskKey;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManagerBuilder;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingType;
import org.apache.flink.runtime.clusterframework.types.ResourceID;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.filemerging.DirectoryStreamStateHandle;
import org.apache.flink.runtime.state.filemerging.SegmentFileStateHandle;
import org.apache.flink.runtime.state.filesystem.FsMergingCheckpointStorageLocation;

/**
 * Flink's merging of checkpoint files, told what a TaskManager tells it. Confined to one thread.
 */
final class MergedFiles implements AutoCloseable {

  private static final long MAX_FILE_BYTES = 2000;
  private static final float MAX_SPACE_AMPLIFICATION = 1.2f;
  private static final int BUFFER_BYTES = 4096;

  private final org.apache.flink.core.fs.Path directory;
  private final FileMergingType type;
  private final String job = new JobID().toHexString();
  private final String vertex = new JobVertexID().toHexString();
  private final List<SubtaskKey> subtasks = new ArrayList<>();
  private FileMergingSnapshotManager manager;

  MergedFiles(Path directory, FileMergingType type) {
    this.directory = new org.apache.flink.core.fs.Path(directory.toUri());
    this.type = type;
    this.manager = taskManager();
  }

  private FileMergingSnapshotManager taskManager() {
    FileMergingSnapshotManager started =
        new FileMergingSnapshotManagerBuilder(JobID.fromHexString(job), ResourceID.generate(), type)
            .setMaxFileSize(MAX_FILE_BYTES)
            .setMaxSpaceAmplification(MAX_SPACE_AMPLIFICATION)
            .build();
    started.initFileSystem(
        LocalFileSystem.getSharedInstance(), directory, path("shared"), path("own"), BUFFER_BYTES);
    return started;
  }

  private org.apache.flink.core.fs.Path path(String name) {
    return new org.apache.flink.core.fs.Path(directory, name);
  }

  /**
   * All subtasks end. A TaskManager's merging goes on only while another part of the job runs
   * there, and then the parallelism stays the same.
   */
  void stop(int nextParallelism, boolean otherPartRuns) throws IOException {
    boolean goesOn = otherPartRuns && nextParallelism == subtasks.size();
    subtasks.forEach(manager::unregisterSubtask);
    subtasks.clear();
    if (!goesOn) {
      manager.close();
      manager = taskManager();
    }
  }

  /** One subtask after the other starts with its part of a checkpoint. */
  void start(int parallelism, long restoredId, List<KeyedStateHandle> handles) {
    SubtaskKey subtask = new SubtaskKey(job, vertex, subtasks.size(), parallelism);
    subtasks.add(subtask);
    manager.registerSubtaskForSharedStates(subtask);
    manager.restoreStateHandles(
        restoredId,
        subtask,
        handles.stream()
            .flatMap(handle -> ((IncrementalRemoteKeyedStateHandle) handle).streamSubHandles())
            .filter(SegmentFileStateHandle.class::isInstance)
            .map(SegmentFileStateHandle.class::cast));
  }

  /** Where a subtask stores a checkpoint. */
  CheckpointStreamFactory streams(int subtask, long checkpointId) {
    manager.notifyCheckpointStart(subtasks.get(subtask), checkpointId);
    return new FsMergingCheckpointStorageLocation(
        subtasks.get(subtask),
        LocalFileSystem.getSharedInstance(),
        directory,
        path("shared"),
        path("own"),
        CheckpointStorageLocationReference.getDefault(),
        0,
        BUFFER_BYTES,
        manager,
        checkpointId);
  }

  /** The directories that the JobManager deletes when no checkpoint has files in them. */
  List<DirectoryStreamStateHandle> directories() {
    List<DirectoryStreamStateHandle> directories = new ArrayList<>();
    for (SubtaskKey subtask : subtasks) {
      for (CheckpointedStateScope scope : CheckpointedStateScope.values()) {
        directories.add(manager.getManagedDirStateHandle(subtask, scope));
      }
    }
    return directories;
  }

  void completed(long checkpointId, long subsumedId) throws Exception {
    for (SubtaskKey subtask : subtasks) {
      manager.notifyCheckpointComplete(subtask, checkpointId);
      manager.notifyCheckpointSubsumed(subtask, subsumedId);
    }
  }

  void aborted(long checkpointId) throws Exception {
    for (SubtaskKey subtask : subtasks) {
      manager.notifyCheckpointAborted(subtask, checkpointId);
    }
  }

  @Override
  public void close() throws IOException {
    subtasks.forEach(manager::unregisterSubtask);
    manager.close();
  }
}
