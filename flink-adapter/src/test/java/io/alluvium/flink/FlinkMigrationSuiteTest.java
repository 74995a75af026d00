package io.alluvium.flink;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.runtime.state.CheckpointStorage;
import org.apache.flink.runtime.state.StateBackendMigrationTestBase;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameter;
import org.apache.flink.testutils.junit.extensions.parameterized.ParameterizedTestExtension;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameters;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Flink's own suite of schema migration; the key serializer is checked, too. */
@ExtendWith({ParameterizedTestExtension.class, NotApplicable.class})
public class FlinkMigrationSuiteTest extends StateBackendMigrationTestBase<AlluviumStateBackend> {

  @TempDir private static Path directory;

  @Parameter
  @SuppressWarnings("NullAway") // set by the extension
  public Backends backend;

  @Parameters(name = "{0}")
  public static List<Backends> parameters() {
    return Arrays.asList(Backends.values());
  }

  @Override
  protected AlluviumStateBackend getStateBackend() {
    return backend.backend();
  }

  @Override
  protected CheckpointStorage getCheckpointStorage() {
    return new FileSystemCheckpointStorage(directory.toUri(), 0);
  }
}
