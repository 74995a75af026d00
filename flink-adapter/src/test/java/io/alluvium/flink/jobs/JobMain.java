package io.alluvium.flink.jobs;

import java.nio.file.Path;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.ParameterTool;

/**
 * Submits one of the jobs to a cluster. Its lines go into files, one per attempt of a subtask; they
 * may be there more than once, but none may differ from the model's.
 */
public final class JobMain {

  private static final int SLICES = 6;
  private static final int KEYS = 200;
  private static final int MAX_PARALLELISM = 128;

  private JobMain() {}

  /** The traffic that {@link #main} sends. */
  static Traffic traffic(long seed, long events) {
    return new Traffic(seed, SLICES, events / SLICES, KEYS);
  }

  /** Takes {@code --job --seed --events --rate --full-speed --output}. */
  public static void main(String[] args) throws Exception {
    ParameterTool parameters = ParameterTool.fromArgs(args);
    Job job = Job.valueOf(parameters.getRequired("job"));
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    env.setMaxParallelism(MAX_PARALLELISM);
    job.build(
            env,
            traffic(
                Long.parseLong(parameters.getRequired("seed")),
                Long.parseLong(parameters.getRequired("events"))),
            new RatedPace(
                Double.parseDouble(parameters.getRequired("rate")),
                parameters.getRequired("full-speed")),
            event -> event)
        .map(new LinesToFile(Path.of(parameters.getRequired("output")).toString()))
        .uid("lines")
        .sinkTo(new DiscardingSink<>())
        .uid("sink");
    env.execute(job.name());
  }
}
