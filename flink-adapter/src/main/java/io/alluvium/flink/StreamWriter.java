package io.alluvium.flink;

import java.io.IOException;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.util.IOUtils;
import org.apache.flink.util.function.SupplierWithException;
import org.apache.flink.util.function.ThrowingConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes one file of a checkpoint, or deletes one. Stateless. */
final class StreamWriter {

  private static final Logger LOG = LoggerFactory.getLogger(StreamWriter.class);

  private StreamWriter() {}

  /**
   * Writes a file, or leaves nothing behind.
   *
   * @param registry closes the stream when the checkpoint is cancelled
   */
  static StreamStateHandle write(
      SupplierWithException<CheckpointStateOutputStream, IOException> open,
      CloseableRegistry registry,
      ThrowingConsumer<CheckpointStateOutputStream, IOException> content)
      throws IOException {
    CheckpointStateOutputStream out = open.get();
    boolean registered = false;
    boolean done = false;
    try {
      registry.registerCloseable(out);
      registered = true;
      content.accept(out);
      if (!registry.unregisterCloseable(out)) {
        throw new IOException("the stream was closed, because the checkpoint was cancelled");
      }
      registered = false;
      StreamStateHandle handle = out.closeAndGetHandle();
      if (handle == null) {
        throw new IOException("the file of a checkpoint came out empty");
      }
      done = true;
      return handle;
    } finally {
      if (!done && (!registered || registry.unregisterCloseable(out))) {
        IOUtils.closeQuietly(out);
      }
    }
  }

  /** Deletes a file; what cannot be deleted is told and left behind. */
  static void discard(@Nullable StreamStateHandle handle) {
    if (handle == null) {
      return;
    }
    try {
      handle.discardState();
    } catch (Exception e) {
      LOG.warn("cannot discard {}, which no checkpoint refers to: {}", handle, e.toString());
    }
  }
}
