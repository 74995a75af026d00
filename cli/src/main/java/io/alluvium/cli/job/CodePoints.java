package io.alluvium.cli.job;

/** Code-point order, which differs from that of {@code String} beyond U+FFFF. Stateless. */
final class CodePoints {

  private CodePoints() {}

  static int compare(String a, String b) {
    int limit = Math.min(a.length(), b.length());
    for (int i = 0; i < limit; i++) {
      char left = a.charAt(i);
      char right = b.charAt(i);
      if (left != right) {
        // A surrogate stands for a code point above every other char.
        boolean leftAbove = Character.isSurrogate(left);
        boolean rightAbove = Character.isSurrogate(right);
        return leftAbove == rightAbove
            ? Character.compare(left, right)
            : Boolean.compare(leftAbove, rightAbove);
      }
    }
    return Integer.compare(a.length(), b.length());
  }
}
