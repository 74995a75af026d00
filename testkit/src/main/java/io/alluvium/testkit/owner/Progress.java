package io.alluvium.testkit.owner;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What a job keeps in a checkpoint's metadata. Immutable.
 *
 * @param offset how much of the input is done
 * @param transactions prepared ones that are not known to be committed
 * @param blobs names of all blobs that the checkpoint needs, for checking
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
