package io.alluvium.internal.catalog;

import io.alluvium.StateBackendException;

/** What reading a slot gave. Immutable. */
sealed interface SlotRead {

  record Found(SlotRecord slot) implements SlotRead {}

  /** It is there and cannot be used: {@code CORRUPT} or {@code INCOMPATIBLE}. */
  record Unreadable(StateBackendException problem) implements SlotRead {}

  /** It is not there (any more). */
  record Missing() implements SlotRead {}
}
