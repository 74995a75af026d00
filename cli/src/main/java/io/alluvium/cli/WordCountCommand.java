package io.alluvium.cli;

import io.alluvium.cli.job.WordCountJob;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Counts words. Confined to the main thread. */
@Command(
    name = "wordcount",
    customSynopsis = "alluvium run wordcount --input FILE|DIR... --output DIR [OPTIONS]",
    description = {
      "Counts the words of text files (UTF-8).",
      "A word is a maximal run of letters and digits, in lower case. At the end of the input,"
          + " DIR/counts.tsv holds a line word<TAB>count for each, sorted by code points. A part"
          + " file holds a line word<TAB>occurrences for each word seen since the checkpoint before;"
          + " all part files add up to the counts."
    })
final class WordCountCommand implements Callable<Integer> {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Mixin private RunOptions options = new RunOptions();

  @Override
  public Integer call() {
    return RunSession.run(spec.commandLine(), options, new WordCountJob());
  }
}
