package io.alluvium.testkit.owner;

import io.alluvium.spi.Incarnation;

/** A transaction of a sink: the output of one offset by one writer. Immutable. */
public record Transaction(Incarnation writer, long offset) {

  @Override
  public String toString() {
    return writer + ":" + offset;
  }

  static Transaction parse(String text) {
    int colon = text.indexOf(':');
    return new Transaction(
        Incarnation.parse(text.substring(0, colon)), Long.parseLong(text.substring(colon + 1)));
  }
}
