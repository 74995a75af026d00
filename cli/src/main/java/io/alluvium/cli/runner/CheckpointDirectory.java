package io.alluvium.cli.runner;

import io.alluvium.cli.input.JobException;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;

/** Where {@code state.checkpoints.dir} points. Stateless. */
public final class CheckpointDirectory {

  /** Two letters or more: {@code C:\dir} is a path. */
  private static final Pattern SCHEME = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]+:.*");

  private CheckpointDirectory() {}

  /** The local directory that a path or a {@code file:} URI names; empty for another store. */
  public static Optional<Path> local(String text) {
    try {
      if (text.startsWith("file:")) {
        return Optional.of(Path.of(URI.create(text)));
      }
      return SCHEME.matcher(text).matches() ? Optional.empty() : Optional.of(Path.of(text));
    } catch (IllegalArgumentException e) {
      throw JobException.usage(
          "the checkpoint directory '" + text + "' is neither a path nor a URI", e);
    }
  }
}
