package io.alluvium.cli.runner;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.alluvium.cli.input.JobException;
import java.io.IOException;

/** Job metadata as JSON bytes; equal metadata gives equal bytes. Stateless. */
final class JobMetadataFormat {

  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .build();

  private JobMetadataFormat() {}

  static byte[] write(JobMetadata metadata) {
    try {
      return JSON.writeValueAsBytes(metadata);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Reads what {@link #write} wrote.
   *
   * @param checkpointId for messages
   */
  static JobMetadata read(byte[] bytes, long checkpointId) {
    try {
      JsonNode tree = JSON.readTree(bytes);
      int format = tree.path("format").asInt(0);
      if (format != JobMetadata.FORMAT) {
        throw new JobException(
            format > JobMetadata.FORMAT
                ? "checkpoint "
                    + checkpointId
                    + " was written by a newer alluvium (job metadata format "
                    + format
                    + ", this one reads "
                    + JobMetadata.FORMAT
                    + "); use that version, or start over with --fresh"
                : notOurs(checkpointId));
      }
      return JSON.treeToValue(tree, JobMetadata.class);
    } catch (IOException e) {
      throw new JobException(notOurs(checkpointId), e);
    }
  }

  private static String notOurs(long checkpointId) {
    return "checkpoint "
        + checkpointId
        + " was not written by 'alluvium run'; give another state.checkpoints.dir";
  }
}
