package io.alluvium.flink;

import java.io.IOException;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractManagedMemoryStateBackend;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.runtime.state.DefaultOperatorStateBackendBuilder;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Alluvium as a state backend of Flink. Holds settings only: native code is loaded and files are
 * made when a keyed backend is. Immutable once configured.
 */
public final class AlluviumStateBackend extends AbstractManagedMemoryStateBackend
    implements ConfigurableStateBackend {

  private static final Logger LOG = LoggerFactory.getLogger(AlluviumStateBackend.class);

  private static final OncePerJob REMARKS = new OncePerJob();

  private static final long serialVersionUID = 1L;

  private final Settings settings;

  /**
   * Of Flink's defaults; {@link #configure} gives one of the job's configuration.
   *
   * @throws org.apache.flink.configuration.IllegalConfigurationException on a Flink that is too old
   */
  public AlluviumStateBackend() {
    this(
        Settings.of(
            new org.apache.flink.configuration.Configuration(),
            AlluviumStateBackend.class.getClassLoader()));
    FlinkVersion.check();
  }

  private AlluviumStateBackend(Settings settings) {
    this.settings = settings;
  }

  @Override
  public AlluviumStateBackend configure(ReadableConfig config, ClassLoader classLoader) {
    AlluviumStateBackend configured = new AlluviumStateBackend(Settings.of(config, classLoader));
    configured.latencyTrackingConfigBuilder = latencyTrackingConfigBuilder.configure(config);
    configured.sizeTrackingConfigBuilder = sizeTrackingConfigBuilder.configure(config);
    return configured;
  }

  @Override
  public String getName() {
    return "alluvium";
  }

  @Override
  public boolean useManagedMemory() {
    return settings.usesManagedMemory();
  }

  /** The first checkpoint after a restore without claim stores everything anew. */
  @Override
  public boolean supportsNoClaimRestoreMode() {
    return true;
  }

  @Override
  public boolean supportsSavepointFormat(SavepointFormatType formatType) {
    return true;
  }

  @Override
  public <K> AbstractKeyedStateBackend<K> createKeyedStateBackend(
      KeyedStateBackendParameters<K> parameters) throws IOException {
    return createKeyedStateBackend(parameters, KeyedBackendBuilder.Between.NOTHING);
  }

  <K> AbstractKeyedStateBackend<K> createKeyedStateBackend(
      KeyedStateBackendParameters<K> parameters, KeyedBackendBuilder.Between between)
      throws IOException {
    remark(parameters.getJobID());
    return new KeyedBackendBuilder<>(
            settings,
            parameters,
            new KeyedBackendBuilder.Tracking(
                latencyTrackingConfigBuilder.setMetricGroup(parameters.getMetricGroup()).build(),
                sizeTrackingConfigBuilder.setMetricGroup(parameters.getMetricGroup()).build()),
            between)
        .build();
  }

  private void remark(JobID job) {
    if (!settings.remarks().isEmpty() && REMARKS.isFirst(job)) {
      LOG.warn(
          "Options of job {} that Alluvium does not follow:\n  {}",
          job,
          String.join("\n  ", settings.remarks()));
    }
  }

  /** Operator and broadcast state are Flink's own. */
  @Override
  public OperatorStateBackend createOperatorStateBackend(OperatorStateBackendParameters parameters)
      throws Exception {
    ClassLoader userLoader = parameters.getEnv().getUserCodeClassLoader().asClassLoader();
    ExecutionConfig config = parameters.getEnv().getExecutionConfig();
    return new DefaultOperatorStateBackendBuilder(
            userLoader,
            config,
            true,
            parameters.getStateHandles(),
            parameters.getCancelStreamRegistry())
        .build();
  }
}
