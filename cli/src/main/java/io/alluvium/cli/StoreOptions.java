package io.alluvium.cli;

import io.alluvium.StateBackend;
import io.alluvium.cli.input.JobException;
import io.alluvium.cli.runner.Backends;
import io.alluvium.cli.runner.CheckpointDirectory;
import io.alluvium.config.CoreOptions;
import io.alluvium.spi.Metrics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Which checkpoint directory a command looks at. Confined to one thread. */
final class StoreOptions {

  @Option(
      names = "--dir",
      required = true,
      paramLabel = "URI",
      description =
          "The job's checkpoint directory (state.checkpoints.dir; of 'alluvium run', unless set"
              + " otherwise, OUTPUT/.alluvium/checkpoints).")
  private String directory = "";

  @Mixin private BackendOptions backend = new BackendOptions();

  StateBackend open() {
    checkExists();
    Map<String, String> settings = new LinkedHashMap<>(backend.read());
    settings.put(CoreOptions.CHECKPOINT_DIRECTORY.key(), directory);
    return Backends.open(settings, Metrics.NONE);
  }

  /** Whether the command line, or the file that it names, sets an option. */
  boolean gives(io.alluvium.config.Option<?> option) {
    return backend.read().containsKey(option.key());
  }

  String directory() {
    return directory;
  }

  /** Looking at a mistyped directory must not make it. */
  private void checkExists() {
    if (directory.startsWith("memory:")) {
      throw JobException.usage(
          "--dir '"
              + directory
              + "' is the memory of the process that runs the job; nothing can be seen there from"
              + " outside");
    }
    Optional<Path> local = CheckpointDirectory.local(directory);
    if (local.isPresent() && !Files.isDirectory(local.get())) {
      throw new JobException(
          "the checkpoint directory '" + directory + "' does not exist; check --dir");
    }
    local.ifPresent(this::checkKind);
  }

  /** A directory that holds something else must not pass for a job without checkpoints. */
  private void checkKind(Path local) {
    if (Files.isDirectory(local.resolve("slots")) || isEmpty(local)) {
      return;
    }
    Path ofRun = local.resolve(".alluvium").resolve("checkpoints");
    throw new JobException(
        "'"
            + directory
            + "' is no checkpoint directory, it has no 'slots' in it"
            + (Files.isDirectory(ofRun) ? "; did you mean '" + ofRun + "'?" : "; check --dir"));
  }

  private static boolean isEmpty(Path directory) {
    try (Stream<Path> files = Files.list(directory)) {
      return files.findAny().isEmpty();
    } catch (IOException | UncheckedIOException e) {
      // The backend says what is wrong, with the remedy.
      return true;
    }
  }
}
