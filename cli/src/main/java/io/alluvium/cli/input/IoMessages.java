package io.alluvium.cli.input;

import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** What a failed file operation says to people. Stateless. */
public final class IoMessages {

  private IoMessages() {}

  /** A short reason that names the file where the failure does. */
  public static String of(Throwable failure) {
    Throwable e = failure;
    while (e instanceof java.io.UncheckedIOException && e.getCause() != null) {
      e = e.getCause();
    }
    if (e instanceof AccessDeniedException denied) {
      return "access to '" + denied.getFile() + "' is denied";
    }
    if (e instanceof NoSuchFileException missing) {
      return "'" + missing.getFile() + "' does not exist";
    }
    if (e instanceof NotDirectoryException file) {
      return "'" + file.getFile() + "' is not a directory";
    }
    if (e instanceof FileSystemException fs && fs.getReason() != null) {
      return "'" + fs.getFile() + "': " + fs.getReason();
    }
    String message = e.getMessage();
    return message == null ? e.getClass().getSimpleName() : message;
  }
}
