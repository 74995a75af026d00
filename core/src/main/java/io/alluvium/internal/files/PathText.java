package io.alluvium.internal.files;

import io.alluvium.StateBackendException;
import java.io.File;
import java.util.regex.Pattern;

/**
 * Directories as people write them. What is an ordinary name here, but surely means something else,
 * would silently become a directory below the working directory. Stateless.
 */
public final class PathText {

  private static final Pattern WINDOWS = Pattern.compile("/?[A-Za-z]:([/\\\\].*)?|\\\\\\\\.*");

  /** What a shell expands, and nothing else does. */
  private static final Pattern HOME = Pattern.compile("~.*|/~(/.*)?");

  private PathText() {}

  /**
   * Throws {@code INVALID} for a path of Windows on another system, and for a {@code ~}.
   *
   * @param text what was written, for messages
   * @param path the path in it
   */
  public static void check(String text, String path) {
    if (File.separatorChar == '/' && WINDOWS.matcher(path).matches()) {
      throw StateBackendException.invalid(
          "'" + text + "' is a path of Windows; on this system a directory is written /dir");
    }
    if (HOME.matcher(path).matches()) {
      throw StateBackendException.invalid(
          "'"
              + text
              + "' has a '~', which only a shell expands; write the directory out, such as '"
              + System.getProperty("user.home")
              + "/dir'");
    }
  }
}
