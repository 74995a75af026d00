package io.alluvium.internal.catalog;

import io.alluvium.CheckpointHandle;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import java.util.List;

/**
 * The bytes of checkpoint handles, one or all of a checkpoint together: what they share
 * (incarnations, serializer snapshots, state registrations) is stored once, block references are
 * stored as differences (L8). See {@code docs/formats/manifest.md}. The bytes carry no checksum;
 * whoever embeds them does.
 */
public final class CheckpointHandleFormat {

  static final int VERSION = 1;

  /** Of a block: its segment is the one before it in the encoding. */
  static final int BLOCK_SAME_BLOB = 1;

  /** Of a block: it starts at the sequence number where the one before it ends. */
  static final int BLOCK_ADJACENT_SQN = 2;

  /** Of a block, only with {@link #BLOCK_SAME_BLOB}: it starts where the one before it ends. */
  static final int BLOCK_ADJACENT_OFFSET = 4;

  static final int BLOCK_FLAGS = 7;

  private CheckpointHandleFormat() {}

  public static void write(ByteWriter out, List<CheckpointHandle> handles) {
    new HandleWriter(out).write(handles);
  }

  /**
   * Reads what {@link #write} wrote, no byte more.
   *
   * @throws StateBackendException {@code CORRUPT}, or {@code INCOMPATIBLE} for a newer version
   */
  public static List<CheckpointHandle> read(ByteReader in) {
    try {
      return new HandleReader(in).read();
    } catch (StateBackendException e) {
      if (e.kind() == Kind.CORRUPT || e.kind() == Kind.INCOMPATIBLE) {
        throw e;
      }
      throw StateBackendException.of(Kind.CORRUPT, "checkpoint handles: " + e.getMessage(), e);
    }
  }

  public static byte[] encode(List<CheckpointHandle> handles) {
    ByteWriter out = new ByteWriter(512);
    write(out, handles);
    return out.toByteArray();
  }

  public static List<CheckpointHandle> decode(byte[] bytes) {
    ByteReader in = new ByteReader(bytes);
    List<CheckpointHandle> handles = read(in);
    if (in.remaining() != 0) {
      throw StateBackendException.corrupt(
          "checkpoint handles end at byte "
              + in.position()
              + ", but "
              + in.remaining()
              + " more bytes follow");
    }
    return handles;
  }
}
