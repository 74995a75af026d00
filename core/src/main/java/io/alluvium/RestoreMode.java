package io.alluvium;

/** How a restored backend may use the blobs that it was restored from. */
public enum RestoreMode {
  /**
   * Later checkpoints name them again; the normal case, for the newest checkpoint of the job's own
   * chain.
   */
  REUSE,
  /**
   * Later checkpoints never name them, because somebody else may delete them: after falling back to
   * an older checkpoint. The first checkpoint then carries a full materialization of its own.
   */
  DETACHED
}
