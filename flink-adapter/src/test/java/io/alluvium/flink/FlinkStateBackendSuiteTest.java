package io.alluvium.flink;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.runtime.state.CheckpointStorage;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.runtime.state.StateBackendTestBase;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;
import org.apache.flink.runtime.state.storage.JobManagerCheckpointStorage;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameter;
import org.apache.flink.testutils.junit.extensions.parameterized.ParameterizedTestExtension;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameters;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Flink's own suite of keyed state backends. */
@ExtendWith({ParameterizedTestExtension.class, NotApplicable.class})
public class FlinkStateBackendSuiteTest extends StateBackendTestBase<AlluviumStateBackend> {

  /** Where checkpoints go: in memory all files are inline. */
  public enum Storage {
    FILES,
    MEMORY
  }

  @TempDir private static Path directory;

  @Parameter(0)
  @SuppressWarnings("NullAway") // set by the extension
  public Backends backend;

  @Parameter(1)
  @SuppressWarnings("NullAway") // set by the extension
  public Storage storage;

  @Parameters(name = "{0}, checkpoints in {1}")
  public static List<Object[]> parameters() {
    List<Object[]> all = new ArrayList<>();
    for (Backends backend : Backends.values()) {
      all.add(new Object[] {backend, Storage.FILES});
    }
    all.add(new Object[] {Backends.ROCKSDB_CHANGELOG, Storage.MEMORY});
    return all;
  }

  @Override
  protected ConfigurableStateBackend getStateBackend() {
    return backend.backend();
  }

  @Override
  protected CheckpointStorage getCheckpointStorage() {
    return storage == Storage.MEMORY
        ? new JobManagerCheckpointStorage()
        : new FileSystemCheckpointStorage(directory.toUri(), 0);
  }

  @Override
  protected boolean isSerializerPresenceRequiredOnRestore() {
    return false;
  }

  @Override
  protected boolean supportsAsynchronousSnapshots() {
    return true;
  }

  @Override
  protected boolean isSafeToReuseKVState() {
    return true;
  }
}
