package io.alluvium.internal.backend;

import io.alluvium.Components;
import io.alluvium.StateBackend;
import java.util.Map;

/** Wires a process together; written next. */
public final class ProcessBackend {

  private ProcessBackend() {}

  @SuppressWarnings("DoNotCallSuggester")
  public static StateBackend open(Map<String, String> settings, Components components) {
    throw new UnsupportedOperationException(settings + " " + components);
  }
}
