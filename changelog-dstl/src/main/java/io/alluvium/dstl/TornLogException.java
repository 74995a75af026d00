package io.alluvium.dstl;

import java.io.Serial;

/**
 * What was logged cannot be what one thread appended. Says what was found; the changelog makes it a
 * failure for good, see {@link BlockLedger#tear}.
 */
final class TornLogException extends RuntimeException {

  @Serial private static final long serialVersionUID = 1L;

  TornLogException(String found) {
    super(found);
  }
}
