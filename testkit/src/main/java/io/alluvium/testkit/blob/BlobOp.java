package io.alluvium.testkit.blob;

import java.util.Locale;

/** The calls of a blob store in fault rules and traces. */
public enum BlobOp {
  /** {@code put} and {@code putFile}. */
  PUT,
  /** {@code putIfAbsent}. */
  PUTIFABSENT,
  SIZE,
  /** {@code open} and {@code read}. */
  READ,
  LIST,
  DELETE;

  /** The name in rules and traces. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static BlobOp ofWord(String word) {
    return valueOf(word.toUpperCase(Locale.ROOT));
  }
}
