package io.alluvium.cli.job;

import io.alluvium.KeyedBackend;
import io.alluvium.cli.input.InputFile;
import io.alluvium.cli.input.RecordFormat;
import java.util.Map;
import java.util.Optional;

/** A kind of job with its parameters. Immutable. */
public interface Job {

  /** The name of the kind, as on the command line. */
  String kind();

  /** What decides the results, by option name; a job resumes only with the same. */
  Map<String, String> parameters();

  RecordFormat format();

  /** How many bytes at the start of a file are no records. */
  long headerBytes(InputFile file);

  /** Makes the parser of a file's records. */
  RecordParser parserOf(InputFile file);

  /** How far the watermark stays behind the greatest event time seen, in milliseconds. */
  long latenessMillis();

  /** Makes the operator of a subtask; called on its task thread. */
  Operator operator(KeyedBackend<String> backend, Operator.Output out, long watermark);

  /** The file of the final results, if the job has any. */
  Optional<String> resultFile();
}
