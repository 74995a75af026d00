package io.alluvium.testkit.owner;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A job's own data in the metadata of a checkpoint. Immutable.
 *
 * @param offset number of processed pieces of the input
 * @param transactions prepared transactions that may not be committed
 * @param blobs names of all blobs that the checkpoint needs, for the checker
 */
record Progress(long offset, List<Transaction> transactions, List<String> blobs) {

  static final Progress NONE = new Progress(0, List.of(), List.of());

  byte[] bytes() {
    String text =
        offset
            + "|"
            + transactions.stream().map(Transaction::toString).collect(Collectors.joining(","))
            + "|"
            + String.join(",", blobs);
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static Progress parse(byte[] bytes) {
    String[] parts = new String(bytes, StandardCharsets.UTF_8).split("\\|", -1);
    return new Progress(
        Long.parseLong(parts[0]),
        list(parts[1]).stream().map(Transaction::parse).toList(),
        list(parts[2]));
  }

  private static List<String> list(String text) {
    return text.isEmpty() ? List.of() : Arrays.asList(text.split(","));
  }
}
