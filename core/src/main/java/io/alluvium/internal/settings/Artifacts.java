package io.alluvium.internal.settings;

import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Which artifact brings what is looked up on the class path, for messages. Stateless. */
public final class Artifacts {

  private static final String LOG = "io.alluvium:alluvium-changelog-dstl";
  private static final String ROCKSDB = "io.alluvium:alluvium-rocksdb-materializer";
  private static final String S3 = "io.alluvium:alluvium-blobstore-s3";

  /** What Alluvium brings, on the class path or not. */
  public static final Set<String> TABLES = Set.of("heap", "rocksdb");

  public static final Set<String> LOGS = Set.of("filesystem", "memory");

  public static final Set<String> STORES = Set.of("file", "memory", "s3");

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

  /** The table, log or store that reads the options with the prefix of this one. */
  public static Optional<String> readerOf(String option) {
    return NAME_BY_PREFIX.entrySet().stream()
        .filter(entry -> option.startsWith(entry.getKey()))
        .map(Map.Entry::getValue)
        .findFirst();
  }
}
