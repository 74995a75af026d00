package io.alluvium.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs a job. Confined to the main thread. */
@Command(
    name = "run",
    customSynopsis = "alluvium run wordcount|sliding-window [OPTIONS]",
    description =
        "Runs a job on this machine, in this process. The same command again resumes after any"
            + " crash.",
    subcommands = {WordCountCommand.class, SlidingWindowCommand.class})
final class RunCommand implements Runnable {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public void run() {
    throw new ParameterException(
        spec.commandLine(), "name the job to run: wordcount or sliding-window");
  }
}
