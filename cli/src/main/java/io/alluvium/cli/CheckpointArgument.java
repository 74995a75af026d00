package io.alluvium.cli;

import io.alluvium.CheckpointInspector;
import io.alluvium.cli.input.JobException;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Which checkpoint a command looks at. Immutable.
 *
 * @param id empty for the newest one
 */
record CheckpointArgument(OptionalLong id) {

  static final String LATEST = "latest";

  /** The id in a directory; that of the newest checkpoint for {@value #LATEST}. */
  long idIn(CheckpointInspector inspector, String directory) {
    if (id.isPresent()) {
      return id.getAsLong();
    }
    List<CheckpointInspector.Entry> entries = inspector.list();
    if (entries.isEmpty()) {
      throw new JobException("there is no checkpoint in '" + directory + "'");
    }
    CheckpointInspector.Entry newest = entries.get(entries.size() - 1);
    // An older one would look as if nothing were wrong.
    return newest
        .checkpoint()
        .orElseThrow(
            () ->
                new JobException(
                    "the newest checkpoint in '"
                        + directory
                        + "' cannot be read: "
                        + newest.problem().orElse(newest.blobName())
                        + "; 'alluvium checkpoints list' shows the ids of those before it"))
        .id();
  }

  /** An id, as {@code checkpoints list} shows it, or {@value #LATEST}. */
  static final class Converter implements ITypeConverter<CheckpointArgument> {
    @Override
    public CheckpointArgument convert(String text) {
      if (text.toLowerCase(Locale.ROOT).equals(LATEST)) {
        return new CheckpointArgument(OptionalLong.empty());
      }
      try {
        return new CheckpointArgument(OptionalLong.of(Long.parseLong(text)));
      } catch (NumberFormatException e) {
        throw new TypeConversionException(
            "'"
                + text
                + "' is neither the id of a checkpoint nor '"
                + LATEST
                + "'; 'alluvium checkpoints list' shows those there are");
      }
    }
  }
}
