package io.alluvium.internal.catalog;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateKind;
import io.alluvium.StateRegistration;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.TableFile;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Reads handles once, see {@link CheckpointHandleFormat}. Every count is bounded by the bytes that
 * are left before anything is allocated for it. Confined to one thread.
 */
final class HandleReader {

  /** What the first block or file is told as a difference from. */
  static final BlockRef BEFORE_FIRST =
      new BlockRef(new BlobName(new Incarnation(0, 0), 0, BlobName.Kind.LOG), 0, 0, 0, 0);

  private final ByteReader in;
  private List<Incarnation> incarnations = List.of();
  private List<SerializerSnapshot> snapshots = List.of();
  private List<StateRegistration> states = List.of();
  private BlockRef before = BEFORE_FIRST;

  HandleReader(ByteReader in) {
    this.in = in;
  }

  List<CheckpointHandle> read() {
    int version = in.readByte();
    if (version > CheckpointHandleFormat.VERSION) {
      throw StateBackendException.incompatible(
          "checkpoint handles have format version "
              + version
              + ", this Alluvium reads versions up to "
              + CheckpointHandleFormat.VERSION
              + "; use the version that wrote them or a newer one");
    }
    if (version != CheckpointHandleFormat.VERSION) {
      throw StateBackendException.corrupt("format version of checkpoint handles is " + version);
    }
    incarnations = readList("incarnations", Incarnation.BYTES, () -> Incarnation.read(in));
    snapshots = readList("serializer snapshots", 3, () -> SerializerSnapshot.read(in));
    states = readList("states", 5, this::readState);
    return readList("handles", 9, this::readHandle);
  }

  private <T> List<T> readList(String what, int leastBytesEach, Supplier<T> element) {
    int count = in.readVarInt();
    if (count < 0 || (long) count * leastBytesEach > in.remaining()) {
      throw StateBackendException.corrupt(
          count + " " + what + " cannot stand in the " + in.remaining() + " bytes that are left");
    }
    List<T> list = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      list.add(element.get());
    }
    return list;
  }

  private static <T> T at(List<T> table, int index, String what) {
    if (index < 0 || index >= table.size()) {
      throw StateBackendException.corrupt(
          what + " " + index + " must lie within [0, " + table.size() + ")");
    }
    return table.get(index);
  }

  private SerializerSnapshot readSnapshot() {
    return at(snapshots, in.readVarInt(), "serializer snapshot");
  }

  private StateRegistration readState() {
    return new StateRegistration(
        in.readString(),
        in.readVarInt(),
        StateKind.ofCode(in.readByte()),
        readSnapshot(),
        readList("value formats", 1, this::readSnapshot));
  }

  private CheckpointHandle readHandle() {
    return new CheckpointHandle(
        in.readVarLong(),
        readKeyGroups(),
        in.readVarInt(),
        in.readVarLong(),
        readList("parts", 4, this::readPart),
        readBlocks(),
        readSnapshot(),
        readList("states of a handle", 1, () -> at(states, in.readVarInt(), "state")));
  }

  private KeyGroupRange readKeyGroups() {
    int from = in.readVarInt();
    return new KeyGroupRange(from, in.readVarInt());
  }

  private CheckpointHandle.Part readPart() {
    return new CheckpointHandle.Part(
        readKeyGroups(),
        readBoolean() ? Optional.of(readMaterialization()) : Optional.empty(),
        readBlocks());
  }

  private boolean readBoolean() {
    int value = in.readByte();
    if (value != 0 && value != 1) {
      throw StateBackendException.corrupt("a byte that must be 0 or 1 is " + value);
    }
    return value == 1;
  }

  private Materialization readMaterialization() {
    return new Materialization(
        in.readString(),
        in.readVarLong(),
        in.readVarLong(),
        readList("table files", 9, this::readFile));
  }

  private TableFile readFile() {
    String name = in.readString();
    BlobName blob = readBlob();
    before = new BlockRef(blob, 0, 0, before.toSqn(), before.toSqn());
    return new TableFile(name, blob, in.readVarLong(), in.readInt(), readBoolean());
  }

  private BlobName readBlob() {
    int index = in.readVarInt();
    return new BlobName(
        at(incarnations, index >>> 1, "incarnation"),
        before.blob().counter() + readSigned(),
        (index & 1) == 0 ? BlobName.Kind.LOG : BlobName.Kind.TABLE);
  }

  private List<BlockRef> readBlocks() {
    return readList("blocks", 3, this::readBlock);
  }

  private BlockRef readBlock() {
    int flags = in.readByte();
    boolean sameBlob = (flags & CheckpointHandleFormat.BLOCK_SAME_BLOB) != 0;
    boolean adjacentOffset = (flags & CheckpointHandleFormat.BLOCK_ADJACENT_OFFSET) != 0;
    if ((flags & ~CheckpointHandleFormat.BLOCK_FLAGS) != 0 || (adjacentOffset && !sameBlob)) {
      throw StateBackendException.corrupt("a block reference has the flags " + flags);
    }
    BlobName blob = sameBlob ? before.blob() : readBlob();
    long offset = adjacentOffset ? before.offset() + before.length() : in.readVarLong();
    int length = in.readVarInt();
    boolean adjacentSqn = (flags & CheckpointHandleFormat.BLOCK_ADJACENT_SQN) != 0;
    long fromSqn = before.toSqn() + (adjacentSqn ? 0 : readSigned());
    long toSqn = fromSqn + in.readVarLong();
    if (offset < 0 || length < 0 || fromSqn < 0 || toSqn < fromSqn) {
      throw StateBackendException.corrupt(
          "a block reference is out of bounds: offset "
              + offset
              + ", length "
              + length
              + ", changes ["
              + fromSqn
              + ", "
              + toSqn
              + ")");
    }
    before = new BlockRef(blob, offset, length, fromSqn, toSqn);
    return before;
  }

  private long readSigned() {
    long value = in.readVarLong();
    return value >>> 1 ^ -(value & 1);
  }
}
