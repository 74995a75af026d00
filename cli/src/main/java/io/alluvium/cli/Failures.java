package io.alluvium.cli;

import io.alluvium.StateBackendException;
import io.alluvium.cli.input.IoMessages;
import io.alluvium.cli.input.JobException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** What a failed command says, and its exit status. Stateless. */
final class Failures {

  /** What the parser says before what is wrong with an argument that is no option. */
  private static final Pattern POSITION =
      Pattern.compile("Invalid value for positional parameter at index \\d+ \\(\\w+\\): ");

  private Failures() {}

  /** A command line that was not understood. */
  static int usage(ParameterException exception, String[] args) {
    CommandLine command = exception.getCommandLine();
    PrintWriter err = command.getErr();
    err.println("alluvium: " + sentence(exception));
    UnmatchedArgumentException.printSuggestions(exception, err);
    err.println("Try '" + command.getCommandSpec().qualifiedName() + " --help'.");
    err.flush();
    return CommandLine.ExitCode.USAGE;
  }

  private static String sentence(ParameterException exception) {
    CommandSpec command = exception.getCommandLine().getCommandSpec();
    if (exception instanceof UnmatchedArgumentException unmatched
        && !unmatched.isUnknownOption()
        && !command.subcommands().isEmpty()) {
      return "unknown command '"
          + unmatched.getUnmatched().get(0)
          + "'; there are "
          + String.join(", ", command.subcommands().keySet());
    }
    return POSITION.matcher(String.valueOf(exception.getMessage())).replaceFirst("");
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
