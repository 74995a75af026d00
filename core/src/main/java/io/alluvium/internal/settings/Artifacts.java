package io.alluvium.internal.settings;

import java.util.Collection;
import java.util.Map;

/** Which artifact brings what is looked up on the class path, for messages. Stateless. */
public final class Artifacts {

  private static final String LOG = "io.alluvium:alluvium-changelog-dstl";
  private static final String ROCKSDB = "io.alluvium:alluvium-rocksdb-materializer";
  private static final String S3 = "io.alluvium:alluvium-blobstore-s3";

  /** By the name of a table or a log, or the scheme of a store. */
  private static final Map<String, String> BY_NAME =
      Map.of("rocksdb", ROCKSDB, "filesystem", LOG, "memory", LOG, "s3", S3);

  /** What reads the options with a prefix. */
  private static final Map<String, String> NAME_BY_PREFIX =
      Map.of("dstl.", "filesystem", "state.backend.rocksdb.", "rocksdb", "s3.", "s3");

  private Artifacts() {}

  /** {@code "; add ... to it"}, or nothing when no artifact of Alluvium brings it. */
  public static String remedy(String name) {
    String artifact = BY_NAME.get(name);
    return artifact == null ? "" : "; add '" + artifact + "' to it";
  }

  /**
   * That an option is unknown because its artifact is not there, or nothing.
   *
   * @param present names of the tables, logs and stores that are there
   */
  public static String missingFor(String option, Collection<String> present) {
    for (Map.Entry<String, String> entry : NAME_BY_PREFIX.entrySet()) {
      String reader = entry.getValue();
      if (option.startsWith(entry.getKey()) && !present.contains(reader)) {
        return "; '" + reader + "' reads it and is not on the class path" + remedy(reader);
      }
    }
    return "";
  }
}
