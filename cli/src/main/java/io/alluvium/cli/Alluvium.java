package io.alluvium.cli;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Entry point of the {@code alluvium} command. Confined to the main thread. */
@Command(
    name = "alluvium",
    mixinStandardHelpOptions = true,
    description = "Keyed state for JVM stream processors: runs jobs and inspects checkpoints.")
public final class Alluvium implements Runnable {
  @Spec private CommandSpec spec = CommandSpec.create();

  /** Runs the command line and exits with 0 = ok, 1 = failed or damaged, 2 = usage. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new Alluvium()).execute(args));
  }

  @Override
  public void run() {
    spec.commandLine().usage(spec.commandLine().getOut());
  }
}
