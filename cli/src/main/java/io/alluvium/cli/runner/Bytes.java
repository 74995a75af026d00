package io.alluvium.cli.runner;

import java.util.Locale;

/** Sizes for people. Stateless. */
public final class Bytes {

  private Bytes() {}

  /** For example {@code 512 B}, {@code 1.5 KB}, {@code 20.0 MB}; units are powers of 1024. */
  public static String shown(long bytes) {
    String[] units = {"KB", "MB", "GB", "TB"};
    if (bytes < 1024) {
      return bytes + " B";
    }
    double amount = bytes / 1024.0;
    int unit = 0;
    while (amount >= 1024 && unit < units.length - 1) {
      amount /= 1024;
      unit++;
    }
    return String.format(Locale.ROOT, "%.1f %s", amount, units[unit]);
  }
}
