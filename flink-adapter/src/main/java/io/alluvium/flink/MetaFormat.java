package io.alluvium.flink;

import io.alluvium.CheckpointHandle;
import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.BlobName;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The bytes of the meta-data file of a keyed backend's checkpoint in Flink; see {@code
 * docs/formats/flink-checkpoint.md}.
 *
 * <pre>
 *   0       4         5        9
 *   | ALFK  | version | CRC32C | length, handle of core | count, shared blobs | length, Flink's part |
 * </pre>
 *
 * Stateless.
 */
final class MetaFormat {

  static final int MAGIC = 0x414c464b;
  static final int VERSION = 1;
  static final int VERSION_OFFSET = 4;
  static final int CRC_OFFSET = 5;
  static final int BODY_OFFSET = 9;

  /**
   * A blob that shares a file with others. Immutable.
   *
   * @param file name of the file within the checkpoint's handle
   */
  record SharedBlob(BlobName name, String file, long offset, long sizeBytes) {}

  /**
   * What the file holds. Immutable.
   *
   * @param flink key serializer and state meta infos in Flink's own format
   */
  record Meta(CheckpointHandle handle, List<SharedBlob> shared, byte[] flink) {}

  private MetaFormat() {}

  static byte[] encode(CheckpointHandle handle, List<SharedBlob> shared, byte[] flink) {
    ByteWriter out = new ByteWriter(512);
    out.writeInt(MAGIC);
    out.writeByte(VERSION);
    out.writeInt(0);
    out.writeByteArray(handle.encode());
    out.writeVarInt(shared.size());
    for (SharedBlob blob : shared) {
      out.writeString(blob.name().toString());
      out.writeString(blob.file());
      out.writeVarLong(blob.offset());
      out.writeVarLong(blob.sizeBytes());
    }
    out.writeByteArray(flink);
    byte[] bytes = out.toByteArray();
    int crc = crc(bytes);
    for (int i = 0; i < Integer.BYTES; i++) {
      bytes[CRC_OFFSET + i] = (byte) (crc >>> (8 * (Integer.BYTES - 1 - i)));
    }
    return bytes;
  }

  private static int crc(byte[] bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, CRC_OFFSET);
    crc.update(bytes, BODY_OFFSET, bytes.length - BODY_OFFSET);
    return (int) crc.getValue();
  }

  /** Whether the bytes start like a meta file of Alluvium. */
  static boolean isOurs(byte[] bytes) {
    return bytes.length >= Integer.BYTES && new ByteReader(bytes).readInt() == MAGIC;
  }

  /**
   * Reads what {@link #encode} wrote.
   *
   * @param from names the file in messages
   */
  static Meta decode(byte[] bytes, String from) {
    if (bytes.length < BODY_OFFSET) {
      throw StateBackendException.corrupt(
          from, 0, "at least " + BODY_OFFSET + " bytes", bytes.length + " bytes");
    }
    ByteReader in = new ByteReader(bytes);
    int magic = in.readInt();
    if (magic != MAGIC) {
      throw StateBackendException.corrupt(
          from, 0, Integer.toHexString(MAGIC), Integer.toHexString(magic));
    }
    int version = in.readByte() & 0xff;
    int expected = in.readInt();
    int found = crc(bytes);
    if (expected != found) {
      throw StateBackendException.corrupt(
          from, CRC_OFFSET, "CRC32C " + Integer.toHexString(expected), Integer.toHexString(found));
    }
    // Only now: damage must not look like a newer version.
    if (version > VERSION) {
      throw StateBackendException.incompatible(
          "'"
              + from
              + "' has format version "
              + version
              + ", this Alluvium reads versions up to "
              + VERSION
              + "; use the version that wrote it or a newer one");
    }
    if (version != VERSION) {
      throw StateBackendException.corrupt(from, VERSION_OFFSET, "a version", "" + version);
    }
    CheckpointHandle handle = CheckpointHandle.decode(in.readByteArray());
    int count = in.readVarInt();
    List<SharedBlob> shared = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      String name = in.readString();
      BlobName blob =
          BlobName.tryParse(name)
              .orElseThrow(
                  () -> StateBackendException.corrupt("'" + from + "' names no blob: " + name));
      shared.add(new SharedBlob(blob, in.readString(), in.readVarLong(), in.readVarLong()));
    }
    return new Meta(handle, shared, in.readByteArray());
  }
}
