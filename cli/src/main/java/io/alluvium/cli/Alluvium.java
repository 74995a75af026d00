package io.alluvium.cli;

import java.io.PrintWriter;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** Entry point of the {@code alluvium} command. Confined to the main thread. */
@Command(
    name = "alluvium",
    mixinStandardHelpOptions = true,
    scope = ScopeType.INHERIT,
    versionProvider = Version.class,
    description = "Keyed state for JVM stream processors: runs jobs and inspects checkpoints.",
    subcommands = {
      DemoCommand.class,
      RunCommand.class,
      CheckpointsCommand.class,
      CommandLine.HelpCommand.class
    },
    footer = {
      "",
      "Durations are written 300ms, 2s, 10m, '10 min', 1h. Results go to standard output, progress"
          + " and messages to standard error.",
      "Exit status: 0 = ok, 1 = failed or damaged, 2 = usage, 3 = out of memory (set ALLUVIUM_JAVA_OPTS=-Xmx4g)."
    })
public final class Alluvium implements Runnable {

  private static final String VERBOSE = "--verbose";

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = VERBOSE,
      scope = ScopeType.INHERIT,
      description = "Show debug messages, and the stack trace of a failure.")
  private boolean verbose;

  /** Runs the command line and exits with 0 = ok, 1 = failed or damaged, 2 = usage. */
  public static void main(String[] args) {
    // Before anything logs: the level is read once.
    if (List.of(args).contains(VERBOSE)) {
      System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "debug");
    }
    System.exit(commandLine().execute(args));
  }

  static CommandLine commandLine() {
    Alluvium root = new Alluvium();
    CommandLine commandLine = new CommandLine(root);
    commandLine.registerConverter(int.class, new Converters.OfInteger());
    commandLine.registerConverter(Integer.class, new Converters.OfInteger());
    commandLine.setUsageHelpAutoWidth(true);
    keepOrderOfOptions(commandLine);
    commandLine.setParameterExceptionHandler(Failures::usage);
    commandLine.setExecutionExceptionHandler(
        (exception, command, parsed) -> Failures.execution(exception, command, root.verbose));
    return commandLine;
  }

  /** What must be given comes first, as declared; by the alphabet it would be lost. */
  private static void keepOrderOfOptions(CommandLine command) {
    command.getCommandSpec().usageMessage().sortOptions(false);
    command.getSubcommands().values().forEach(Alluvium::keepOrderOfOptions);
  }

  @Override
  public void run() {
    PrintWriter out = spec.commandLine().getOut();
    spec.commandLine().usage(out);
  }
}
