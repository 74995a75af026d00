package io.alluvium.internal.catalog;

import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.CoreOptions;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a catalog is told by its configuration. Immutable.
 *
 * @param retained checkpoints to keep, at least 1
 * @param fallback whether a restore may use an older checkpoint than the newest
 * @param commitTimeout how long a call is tried again while the store is unavailable
 * @param fencing what the store is relied on for
 * @param libraryVersion stored in every slot
 */
public record CatalogSettings(
    int retained,
    boolean fallback,
    Duration commitTimeout,
    Fencing fencing,
    String libraryVersion) {

  public CatalogSettings {
    if (libraryVersion.getBytes(StandardCharsets.UTF_8).length
        > ManifestFormat.MAX_LIBRARY_VERSION_BYTES) {
      throw StateBackendException.invalid(
          "the library's version '"
              + libraryVersion
              + "' is longer than "
              + ManifestFormat.MAX_LIBRARY_VERSION_BYTES
              + " bytes; build it with a shorter one");
    }
  }

  /** What keeps two processes of one job apart. */
  public enum Fencing {
    /** A slot goes to the first who puts into it. */
    PUT_IF_ABSENT,
    /** Nothing; the user starts one process only. */
    NONE
  }

  public static CatalogSettings of(Configuration configuration) {
    return new CatalogSettings(
        configuration.get(CoreOptions.RETAINED_CHECKPOINTS),
        configuration.get(CoreOptions.RESTORE_FALLBACK),
        configuration.get(CoreOptions.COMMIT_TIMEOUT),
        configuration.get(CoreOptions.FENCING).equals("none")
            ? Fencing.NONE
            : Fencing.PUT_IF_ABSENT,
        thisVersion());
  }

  /** From the jar's manifest; classes outside of a jar have none. */
  private static String thisVersion() {
    @Nullable String version = CatalogSettings.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }
}
