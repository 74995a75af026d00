package io.alluvium.flink.jobs;

import java.io.Serializable;
import java.util.concurrent.CompletableFuture;

/** When a source may emit its next event. Each reader has one; called by its task thread. */
public interface Pace extends Serializable {

  /** Completes when one more event is allowed, and allows just that one. */
  CompletableFuture<Void> next();

  /** As fast as it goes. */
  static Pace unlimited() {
    return () -> CompletableFuture.completedFuture(null);
  }
}
