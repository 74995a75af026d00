package io.alluvium.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.alluvium.cli.input.IoMessages;
import io.alluvium.cli.input.JobException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** JSON for files that other programs read. Stateless. */
final class Json {

  static final ObjectMapper LINES = JsonMapper.builder().build();

  private static final ObjectMapper PRETTY =
      JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

  private Json() {}

  /** Over several lines, for people. */
  static String pretty(JsonNode tree) throws JsonProcessingException {
    return PRETTY.writeValueAsString(tree);
  }

  /** Writes a file as a whole. */
  static void write(Path file, Object value) {
    try {
      Files.writeString(file, PRETTY.writeValueAsString(value) + "\n", StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw cannotWrite(file, e);
    }
  }

  /** Adds one line to a file. */
  static void append(Path file, Object value) {
    try {
      Files.writeString(
          file,
          LINES.writeValueAsString(value) + "\n",
          StandardCharsets.UTF_8,
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw cannotWrite(file, e);
    }
  }

  private static JobException cannotWrite(Path file, IOException cause) {
    return new JobException(
        "the file '"
            + file
            + "' cannot be written: "
            + IoMessages.of(cause)
            + "; choose another place for it",
        cause);
  }
}
