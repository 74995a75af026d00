package io.alluvium.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Looks after stored checkpoints. Confined to the main thread. */
@Command(
    name = "checkpoints",
    customSynopsis = "alluvium checkpoints list|show|verify|gc --dir URI [OPTIONS]",
    description = "Lists, shows, verifies and cleans up the checkpoints of a job.",
    subcommands = {ListCommand.class, ShowCommand.class, VerifyCommand.class, GcCommand.class})
final class CheckpointsCommand implements Runnable {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "name what to do: list, show, verify or gc");
  }
}
