package io.alluvium.internal.catalog;

import java.util.OptionalLong;

/** Names of the slots of the chain: {@code slots/<16 hexadecimal digits>}, counted from 1. */
final class SlotNames {

  static final String PREFIX = "slots/";

  private static final int DIGITS = 16;

  private SlotNames() {}

  static String of(long slot) {
    return PREFIX + String.format("%016x", slot);
  }

  /** The slot that a blob's name stands for; empty when it is the name of something else. */
  static OptionalLong tryParse(String name) {
    if (name.length() != PREFIX.length() + DIGITS || !name.startsWith(PREFIX)) {
      return OptionalLong.empty();
    }
    try {
      long slot = Long.parseLong(name, PREFIX.length(), name.length(), 16);
      return slot > 0 && of(slot).equals(name) ? OptionalLong.of(slot) : OptionalLong.empty();
    } catch (NumberFormatException e) {
      return OptionalLong.empty();
    }
  }
}
