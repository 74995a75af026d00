package io.alluvium.cli;

import io.alluvium.StateBackendException;
import io.alluvium.cli.input.IoMessages;
import io.alluvium.cli.input.JobException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** What a failed command says, and its exit status. Stateless. */
final class Failures {

  private Failures() {}

  /** A command line that was not understood. */
  static int usage(ParameterException exception, String[] args) {
    CommandLine command = exception.getCommandLine();
    PrintWriter err = command.getErr();
    err.println("alluvium: " + exception.getMessage());
    UnmatchedArgumentException.printSuggestions(exception, err);
    err.println("Try '" + command.getCommandSpec().qualifiedName() + " --help'.");
    err.flush();
    return CommandLine.ExitCode.USAGE;
  }

  /** A command that failed on its way. */
  static int execution(Exception exception, CommandLine command, boolean verbose) {
    PrintWriter err = command.getErr();
    err.println("alluvium: " + sentence(exception));
    if (verbose) {
      exception.printStackTrace(err);
    }
    err.flush();
    return exception instanceof JobException job && job.blame() == JobException.Blame.USAGE
        ? CommandLine.ExitCode.USAGE
        : CommandLine.ExitCode.SOFTWARE;
  }

  private static String sentence(Exception exception) {
    boolean internal =
        exception instanceof StateBackendException state
            && state.kind() == StateBackendException.Kind.INTERNAL;
    if (!internal
        && (exception instanceof JobException || exception instanceof StateBackendException)) {
      return String.valueOf(exception.getMessage());
    }
    if (exception instanceof IOException || exception instanceof UncheckedIOException) {
      return IoMessages.of(exception);
    }
    return "internal error: "
        + (exception.getMessage() == null ? exception.getClass().getName() : exception.getMessage())
        + "; this is a defect of Alluvium, --verbose shows where";
  }
}
