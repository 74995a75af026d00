package io.alluvium.internal.catalog;

import io.alluvium.CheckpointHandle;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Incarnation;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The bytes of a slot: a takeover record or the manifest of a checkpoint; see {@code
 * docs/formats/manifest.md}.
 *
 * <pre>
 *   0        8         10     11     12            16                16+n
 *   | magic  | version | kind | zero | body length | body (n bytes)  | CRC32C of all before |
 *   |   8    |    2    |  1   |  1   |      4      |                 |          4           |
 * </pre>
 *
 * Every later version keeps this envelope, so that damage and a newer version are told apart.
 */
final class ManifestFormat {

  /** {@code ALLUVSLT}. */
  static final long MAGIC = 0x414c4c5556534c54L;

  static final int VERSION = 1;

  private static final Instant EPOCH = Instant.EPOCH;

  static final int MAGIC_AT = 0;
  static final int VERSION_AT = 8;
  static final int KIND_AT = 10;
  static final int ZERO_AT = 11;
  static final int BODY_LENGTH_AT = 12;
  static final int BODY_AT = 16;
  static final int CHECKSUM_BYTES = 4;

  static final int KIND_TAKEOVER = 1;
  static final int KIND_MANIFEST = 2;

  /** Far above any real manifest; bounds what a reader allocates. */
  static final int MAX_BYTES = 256 << 20;

  /**
   * The longest name of a library version in bytes. So no takeover record is as large as a manifest
   * that names a blob, which has an incarnation, a snapshot, a handle and a block or file besides.
   */
  static final int MAX_LIBRARY_VERSION_BYTES = 32;

  private ManifestFormat() {}

  /** The size in bytes of a takeover record in {@code slot} at most. */
  static int longestTakeover(String job, long slot) {
    SlotRecord.Header header =
        new SlotRecord.Header(
            job, slot, slot, new Incarnation(0, 0), "v".repeat(MAX_LIBRARY_VERSION_BYTES), EPOCH);
    return encode(new SlotRecord.Takeover(header)).length;
  }

  static byte[] encode(SlotRecord slot) {
    ByteWriter out = new ByteWriter(512);
    out.writeLong(MAGIC);
    out.writeShort(VERSION);
    out.writeByte(slot instanceof SlotRecord.Takeover ? KIND_TAKEOVER : KIND_MANIFEST);
    out.writeByte(0);
    out.writeInt(0); // the body's length, below
    writeHeader(out, slot.header());
    if (slot instanceof SlotRecord.Manifest manifest) {
      out.writeVarLong(manifest.checkpointId());
      out.writeByteArray(manifest.metadata());
      CheckpointHandleFormat.write(out, manifest.handles());
      writeGivenUp(out, manifest.givenUp());
    }
    int end = out.length();
    if (end > MAX_BYTES - CHECKSUM_BYTES) {
      throw StateBackendException.invalid(
          "the manifest of slot "
              + slot.header().slot()
              + " would take "
              + end
              + " bytes, more than "
              + MAX_BYTES
              + "; keep less metadata in a checkpoint");
    }
    out.setLength(BODY_LENGTH_AT);
    out.writeInt(end - BODY_AT);
    out.setLength(end);
    out.writeInt(checksum(out.array(), end));
    return out.toByteArray();
  }

  private static void writeHeader(ByteWriter out, SlotRecord.Header header) {
    out.writeString(header.job());
    out.writeVarLong(header.slot());
    out.writeVarLong(header.follows());
    header.writer().write(out);
    out.writeString(header.libraryVersion());
    out.writeLong(header.createdAt().toEpochMilli());
  }

  /** Absent where there is none, which is nearly everywhere. */
  private static void writeGivenUp(ByteWriter out, List<Long> slots) {
    if (!slots.isEmpty()) {
      out.writeVarInt(slots.size());
      slots.forEach(out::writeVarLong);
    }
  }

  private static List<Long> readGivenUp(ByteReader in) {
    if (in.remaining() == 0) {
      return List.of();
    }
    int count = in.readVarInt();
    if (count < 1 || count > in.remaining()) {
      throw StateBackendException.corrupt(
          count + " slots given up cannot stand in the " + in.remaining() + " bytes that are left");
    }
    List<Long> slots = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      slots.add(in.readVarLong());
    }
    return slots;
  }

  private static int checksum(byte[] bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }

  /**
   * Reads a slot.
   *
   * @param blob its full name, for messages
   * @param slot the number that its name stands for
   * @throws StateBackendException {@code CORRUPT}, or {@code INCOMPATIBLE} for a newer version
   */
  static SlotRecord decode(String blob, long slot, byte[] bytes) {
    checkEnvelope(blob, bytes);
    ByteReader in = new ByteReader(bytes, BODY_AT, bytes.length - BODY_AT - CHECKSUM_BYTES);
    SlotRecord decoded;
    try {
      decoded = readBody(bytes[KIND_AT], in);
    } catch (StateBackendException e) {
      if (e.kind() == Kind.INCOMPATIBLE) {
        throw StateBackendException.of(
            Kind.INCOMPATIBLE, "blob '" + blob + "': " + e.getMessage(), e);
      }
      throw StateBackendException.of(
          Kind.CORRUPT,
          "blob '" + blob + "' is damaged at offset " + in.position() + ": " + e.getMessage(),
          e);
    }
    if (in.remaining() != 0) {
      throw StateBackendException.corrupt(
          blob, in.position(), "the end of the body", in.remaining() + " more bytes");
    }
    if (decoded.header().slot() != slot) {
      throw StateBackendException.corrupt(
          blob, BODY_AT, "slot " + slot, "slot " + decoded.header().slot());
    }
    return decoded;
  }

  private static void checkEnvelope(String blob, byte[] bytes) {
    ByteReader in = new ByteReader(bytes);
    int smallest = BODY_AT + CHECKSUM_BYTES;
    if (bytes.length < smallest) {
      throw StateBackendException.corrupt(
          blob, bytes.length, "at least " + smallest + " bytes", "the end of the blob");
    }
    expect(blob, MAGIC_AT, "magic", MAGIC, in.readLong());
    int version = in.readUnsignedShort();
    int kind = in.readByte();
    int zero = in.readByte();
    long size = (in.readInt() & 0xffffffffL) + smallest;
    if (size != bytes.length) {
      throw StateBackendException.corrupt(
          blob,
          Math.min(size, bytes.length),
          size + " bytes in all, as the length at offset " + BODY_LENGTH_AT + " says",
          bytes.length + " bytes");
    }
    int checksumAt = bytes.length - CHECKSUM_BYTES;
    in.skip(checksumAt - BODY_AT);
    expect(
        blob,
        checksumAt,
        "CRC32C",
        checksum(bytes, checksumAt) & 0xffffffffL,
        in.readInt() & 0xffffffffL);
    if (version > VERSION) {
      throw StateBackendException.incompatible(
          "blob '"
              + blob
              + "' has format version "
              + version
              + ", this Alluvium reads versions up to "
              + VERSION
              + "; use the version that wrote it or a newer one");
    }
    expect(blob, VERSION_AT, "format version", VERSION, version);
    expect(blob, ZERO_AT, "a zero byte", 0, zero);
    if (kind != KIND_TAKEOVER && kind != KIND_MANIFEST) {
      throw StateBackendException.corrupt(
          blob, KIND_AT, "kind " + KIND_TAKEOVER + " or " + KIND_MANIFEST, "kind " + kind);
    }
  }

  private static void expect(String blob, long at, String what, long expected, long found) {
    if (expected != found) {
      throw StateBackendException.corrupt(
          blob, at, what + " 0x" + Long.toHexString(expected), "0x" + Long.toHexString(found));
    }
  }

  private static SlotRecord readBody(int kind, ByteReader in) {
    SlotRecord.Header header =
        new SlotRecord.Header(
            in.readString(),
            in.readVarLong(),
            in.readVarLong(),
            Incarnation.read(in),
            in.readString(),
            Instant.ofEpochMilli(in.readLong()));
    if (kind == KIND_TAKEOVER) {
      return new SlotRecord.Takeover(header);
    }
    long checkpointId = in.readVarLong();
    byte[] metadata = in.readByteArray();
    List<CheckpointHandle> handles = CheckpointHandleFormat.read(in);
    return new SlotRecord.Manifest(header, checkpointId, handles, metadata, readGivenUp(in));
  }
}
