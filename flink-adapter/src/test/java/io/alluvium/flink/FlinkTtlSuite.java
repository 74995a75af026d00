package io.alluvium.flink;

import java.nio.file.Path;
import org.apache.flink.runtime.state.CheckpointStorage;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;
import org.apache.flink.runtime.state.ttl.StateBackendTestContext;
import org.apache.flink.runtime.state.ttl.TtlStateTestBase;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.testutils.junit.extensions.parameterized.ParameterizedTestExtension;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Flink's own suite of states with a time to live, incremental cleanup included. */
@ExtendWith({ParameterizedTestExtension.class, NotApplicable.class})
abstract class FlinkTtlSuite extends TtlStateTestBase {

  @TempDir private static Path directory;

  private final Backends backend;

  FlinkTtlSuite(Backends backend) {
    this.backend = backend;
  }

  @Override
  protected StateBackendTestContext createStateBackendTestContext(TtlTimeProvider timeProvider) {
    return new StateBackendTestContext(timeProvider) {
      @Override
      protected StateBackend createStateBackend() {
        return backend.backend();
      }

      @Override
      protected CheckpointStorage createCheckpointStorage() {
        return new FileSystemCheckpointStorage(directory.toUri(), 0);
      }
    };
  }

  /** Checkpoints hold files of the table, from which nothing is left out. */
  @Override
  public boolean isSavepoint() {
    return false;
  }

  @Override
  protected boolean incrementalCleanupSupported() {
    return true;
  }
}
