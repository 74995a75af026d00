package io.alluvium.blobstore.s3;

import io.alluvium.StateBackendException;
import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * A bucket and the prefix of all keys in it. Immutable.
 *
 * @param uri as the user wrote it, for messages
 * @param keyPrefix empty, or ends with a slash
 */
record S3Location(String uri, String bucket, String keyPrefix) {

  /** Reads {@code s3://bucket/prefix}; throws {@code INVALID} for anything else. */
  static S3Location parse(URI uri) {
    @Nullable String bucket = uri.getRawAuthority();
    if (bucket == null || bucket.isEmpty()) {
      throw invalid(uri, "it names no bucket");
    }
    if (bucket.indexOf('@') >= 0 || bucket.indexOf(':') >= 0) {
      throw invalid(
          uri,
          "what stands between the slashes must be the bucket alone; an endpoint belongs into"
              + " 's3.endpoint', credentials into the environment or a profile");
    }
    if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
      throw invalid(uri, "it must not contain '?' or '#'");
    }
    @Nullable String path = uri.getPath();
    String prefix = path == null ? "" : path.replaceAll("^/+|/+$", "");
    for (String segment : prefix.split("/", -1)) {
      if (!prefix.isEmpty() && (segment.isEmpty() || segment.matches("\\.\\.?"))) {
        throw invalid(uri, "its path must not contain empty segments, '.' or '..'");
      }
    }
    return new S3Location(uri.toString(), bucket, prefix.isEmpty() ? "" : prefix + "/");
  }

  private static StateBackendException invalid(URI uri, String problem) {
    return StateBackendException.invalid(
        "'" + uri + "' is not of the form s3://bucket/prefix: " + problem);
  }

  String keyOf(String name) {
    return keyPrefix + name;
  }

  /** The name of a key below the prefix. */
  String nameOf(String key) {
    return key.substring(keyPrefix.length());
  }
}
