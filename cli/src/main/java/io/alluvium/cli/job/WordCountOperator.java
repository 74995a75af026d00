package io.alluvium.cli.job;

import io.alluvium.KeyedBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Keeps the count of each word in a value state, and emits {@code word<TAB>occurrences} for every
 * word seen since the checkpoint before: the lines of all part files add up to the counts. Confined
 * to the task thread.
 */
final class WordCountOperator implements Operator {

  /** These bound the memory of an interval with many different words, or long ones. */
  private static final int MAX_PENDING_WORDS = 100_000;

  private static final long MAX_PENDING_CHARS = 16 << 20;

  private final KeyedBackend<String> backend;
  private final Output out;
  private final ValueState<Long> count;
  private final Map<String, Long> sinceCheckpoint = new HashMap<>();
  private long pendingChars;

  WordCountOperator(KeyedBackend<String> backend, Output out) {
    this.backend = backend;
    this.out = out;
    this.count = backend.state(StateDescriptor.value("count", Serializers.int64()));
  }

  @Override
  public void process(Element element) {
    backend.setCurrentKey(element.key());
    Long before = count.value();
    count.update(before == null ? 1 : before + 1);
    if (sinceCheckpoint.merge(element.key(), 1L, Long::sum) == 1) {
      pendingChars += element.key().length();
    }
    if (sinceCheckpoint.size() >= MAX_PENDING_WORDS || pendingChars >= MAX_PENDING_CHARS) {
      beforeCheckpoint();
    }
  }

  @Override
  public void advanceTo(long watermark) {}

  @Override
  public void beforeCheckpoint() {
    sinceCheckpoint.forEach((word, occurrences) -> out.line(word + "\t" + occurrences));
    sinceCheckpoint.clear();
    pendingChars = 0;
  }

  @Override
  public Map<String, Long> counters() {
    return Map.of();
  }

  @Override
  public void results(Consumer<ResultRow> rows) {
    try (Stream<String> words = backend.keys(count)) {
      words.forEach(
          word -> {
            backend.setCurrentKey(word);
            Long total = count.value();
            if (total != null) {
              rows.accept(new ResultRow(word, total));
            }
          });
    }
  }
}
