package io.alluvium.flink;

import java.io.IOException;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.util.IOUtils;
import org.apache.flink.util.function.SupplierWithException;
import org.apache.flink.util.function.ThrowingConsumer;

/** Writes one file of a checkpoint. Stateless. */
final class StreamWriter {

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
}
