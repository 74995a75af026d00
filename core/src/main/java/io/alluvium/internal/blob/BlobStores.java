package io.alluvium.internal.blob;

import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.internal.files.PathText;
import io.alluvium.internal.providers.FoundProviders;
import io.alluvium.internal.settings.Artifacts;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlobStoreProvider;
import java.io.File;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/** Finds the blob store of a URI, through {@link FoundProviders}. Stateless. */
public final class BlobStores {

  /** At least two letters, so that {@code C:\dir} is not a scheme. */
  private static final Pattern SCHEME = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]+:.*");

  private BlobStores() {}

  /** All providers on the class path, in no order. Their options are part of the configuration. */
  public static List<BlobStoreProvider> providers() {
    return FoundProviders.of(BlobStoreProvider.class);
  }

  /**
   * Opens the store of a URI; text without a scheme is a local directory.
   *
   * @throws StateBackendException {@code INVALID} if no provider on the class path supports the
   *     scheme
   */
  public static BlobStore open(String text, Configuration configuration) {
    URI uri = parse(text.trim());
    List<String> known = new ArrayList<>();
    for (BlobStoreProvider provider : providers()) {
      if (provider.scheme().equalsIgnoreCase(uri.getScheme())) {
        return provider.open(uri, configuration);
      }
      known.add(provider.scheme() + ":");
    }
    throw StateBackendException.invalid(
        "nothing here stores blobs under '"
            + text
            + "': the scheme must be one of "
            + String.join(", ", known.stream().sorted().toList())
            + Artifacts.remedy(uri.getScheme().toLowerCase(Locale.ROOT)));
  }

  /** The scheme of a URI, in lower case; empty for text that is a local directory. */
  public static Optional<String> scheme(String text) {
    String trimmed = text.trim();
    return SCHEME.matcher(trimmed).matches()
        ? Optional.of(trimmed.substring(0, trimmed.indexOf(':')).toLowerCase(Locale.ROOT))
        : Optional.empty();
  }

  private static URI parse(String text) {
    if (text.isEmpty()) {
      throw StateBackendException.invalid(
          "an empty text names no blob store; write file:///dir, s3://bucket/prefix or memory:");
    }
    if (!SCHEME.matcher(text).matches()) {
      PathText.check(text, text);
      return new File(text).toURI();
    }
    int colon = text.indexOf(':');
    String scheme = text.substring(0, colon).toLowerCase(Locale.ROOT);
    String rest = text.substring(colon + 1);
    if (rest.isEmpty() && !scheme.equals("memory")) {
      throw StateBackendException.invalid(
          "'" + text + "' names nothing after the '" + scheme + ":'");
    }
    try {
      return rest.isEmpty() ? new URI(scheme, "/", null) : new URI(text);
    } catch (URISyntaxException e) {
      return parseUnescaped(text, scheme, rest, e);
    }
  }

  /** Parses a path with characters that a URI must escape, for example spaces. */
  private static URI parseUnescaped(
      String text, String scheme, String rest, URISyntaxException first) {
    try {
      return new URI(scheme, rest, null);
    } catch (URISyntaxException e) {
      e.addSuppressed(first);
      throw StateBackendException.of(
          StateBackendException.Kind.INVALID,
          "'" + text + "' is not a URI such as file:///dir or s3://bucket/prefix",
          e);
    }
  }
}
