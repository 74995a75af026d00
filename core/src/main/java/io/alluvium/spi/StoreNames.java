package io.alluvium.spi;

import io.alluvium.StateBackendException;

/** Which texts are names of blobs; the same rule for every store. Stateless. */
public final class StoreNames {

  /** What a local directory keeps its temporary files under; no blob may be called so. */
  public static final String TEMPORARY = ".tmp";

  private static final int MAX_LENGTH = 1024;

  private StoreNames() {}

  /** Throws {@code INVALID} unless {@link #isValid}. */
  public static void check(String name) {
    if (!isValid(name)) {
      throw StateBackendException.invalid(
          "'"
              + name
              + "' is not the name of a blob: it must be 1 to "
              + MAX_LENGTH
              + " letters, digits and '._-', in segments joined by single slashes, none of them"
              + " '.', '..' or '.tmp'");
    }
  }

  /** Whether {@code name} stays inside the store, whatever the store is made of. */
  public static boolean isValid(String name) {
    if (name.isEmpty() || name.length() > MAX_LENGTH) {
      return false;
    }
    int start = 0;
    for (int i = 0; i <= name.length(); i++) {
      if (i == name.length() || name.charAt(i) == '/') {
        if (!isSegment(name.substring(start, i))) {
          return false;
        }
        start = i + 1;
      } else if (!isPlain(name.charAt(i))) {
        return false;
      }
    }
    return true;
  }

  private static boolean isSegment(String segment) {
    return !segment.isEmpty()
        && !segment.equals(".")
        && !segment.equals("..")
        && !segment.equals(TEMPORARY);
  }

  private static boolean isPlain(char c) {
    return (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || (c >= '0' && c <= '9')
        || c == '.'
        || c == '_'
        || c == '-';
  }
}
