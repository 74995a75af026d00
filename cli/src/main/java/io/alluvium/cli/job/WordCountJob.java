package io.alluvium.cli.job;

import io.alluvium.KeyedBackend;
import io.alluvium.cli.input.InputFile;
import io.alluvium.cli.input.RecordFormat;
import java.util.Map;
import java.util.Optional;

/** Counts words. Immutable. */
public final class WordCountJob implements Job {

  public static final String KIND = "wordcount";

  /** The file of the final counts. */
  public static final String COUNTS = "counts.tsv";

  @Override
  public String kind() {
    return KIND;
  }

  @Override
  public Map<String, String> parameters() {
    return Map.of();
  }

  @Override
  public RecordFormat format() {
    return RecordFormat.LINES;
  }

  @Override
  public long headerBytes(InputFile file) {
    return 0;
  }

  @Override
  public RecordParser parserOf(InputFile file) {
    return new WordSplitter();
  }

  @Override
  public long latenessMillis() {
    return 0;
  }

  @Override
  public Operator operator(KeyedBackend<String> backend, Operator.Output out, long watermark) {
    return new WordCountOperator(backend, out);
  }

  @Override
  public Optional<String> resultFile() {
    return Optional.of(COUNTS);
  }
}
