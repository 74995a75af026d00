package io.alluvium.internal.backend;

import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.CoreOptions;
import io.alluvium.internal.files.LocalFiles;
import io.alluvium.internal.files.PathText;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.UserPrincipal;
import java.util.Arrays;
import java.util.List;

/**
 * A directory below which processes make directories of their own. Immutable.
 *
 * @param kind who chose it
 */
record LocalRoot(Path path, Kind kind) {

  /** Who chose a root. */
  enum Kind {
    /** The user, who answers for its rights. */
    CONFIGURED,
    /**
     * Nobody. It stands in a directory that every user of the machine may write to, so that another
     * one may have put something in its place.
     */
    DEFAULT
  }

  private static final String OPTION = CoreOptions.LOCAL_DIRECTORIES.key();

  /** Those that a configuration names, or the default of this user; nothing is made. */
  static List<LocalRoot> of(Configuration configuration) {
    List<LocalRoot> given =
        Arrays.stream(configuration.get(CoreOptions.LOCAL_DIRECTORIES).split(",", -1))
            .map(String::trim)
            .filter(text -> !text.isEmpty())
            .map(text -> new LocalRoot(parse(text), Kind.CONFIGURED))
            .toList();
    return given.isEmpty() ? List.of(ofUser(System.getProperty("user.name", ""))) : given;
  }

  private static Path parse(String text) {
    PathText.check(text, text);
    try {
      return Path.of(text);
    } catch (InvalidPathException e) {
      throw StateBackendException.of(
          StateBackendException.Kind.INVALID,
          "the local directory '" + text + "' of '" + OPTION + "' is not a path: " + e.getReason(),
          e);
    }
  }

  static LocalRoot ofUser(String user) {
    String name = "alluvium-" + user.replaceAll("[^A-Za-z0-9._-]", "_");
    return new LocalRoot(temporary().resolve(name), Kind.DEFAULT);
  }

  private static Path temporary() {
    return Path.of(System.getProperty("java.io.tmpdir"));
  }

  /**
   * Makes it where needed.
   *
   * @throws StateBackendException {@code INVALID} when another user may have a hand in the default
   */
  void prepare() throws IOException {
    if (kind == Kind.CONFIGURED) {
      Path unused = Files.createDirectories(path);
      return;
    }
    try {
      LocalFiles.createPrivateDirectory(path);
    } catch (FileAlreadyExistsException e) {
      checkOwn();
      // An earlier version, or a person, may have made it readable for others.
      LocalFiles.makePrivate(path);
    }
  }

  private void checkOwn() throws IOException {
    if (!Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
        .isDirectory()) {
      throw refused("is not a directory (a symbolic link is not followed there)");
    }
    UserPrincipal owner = Files.getOwner(path, LinkOption.NOFOLLOW_LINKS);
    UserPrincipal self = self();
    if (!owner.equals(self)) {
      throw refused(
          "belongs to the user '" + owner.getName() + "', not to '" + self.getName() + "'");
    }
  }

  /** The user that new files belong to; a system property could name any other. */
  private static UserPrincipal self() throws IOException {
    Path probe = Files.createTempFile(temporary(), "alluvium-", ".owner");
    try {
      return Files.getOwner(probe);
    } finally {
      Files.delete(probe);
    }
  }

  private StateBackendException refused(String why) {
    return StateBackendException.invalid(
        "the default local directory '"
            + path
            + "' "
            + why
            + "; set '"
            + OPTION
            + "' to a directory that only this user may write to");
  }
}
