package io.alluvium.internal.catalog;

import io.alluvium.CheckpointHandle;
import io.alluvium.StateRegistration;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.TableFile;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Writes handles once, see {@link CheckpointHandleFormat}. Confined to one thread. */
final class HandleWriter {

  private final ByteWriter out;
  private final Map<Incarnation, Integer> incarnations = new LinkedHashMap<>();
  private final Map<SerializerSnapshot, Integer> snapshots = new LinkedHashMap<>();
  private final Map<StateRegistration, Integer> states = new LinkedHashMap<>();

  /**
   * The one looked up last, and its place: a changelog's blobs are nearly all of one incarnation.
   */
  private @Nullable Incarnation lastIncarnation;

  private int lastIndex;

  /** The block or file before, from which the next one is told as a difference. */
  private BlockRef before = HandleReader.BEFORE_FIRST;

  HandleWriter(ByteWriter out) {
    this.out = out;
  }

  void write(List<CheckpointHandle> handles) {
    handles.forEach(this::collect);
    out.writeByte(CheckpointHandleFormat.VERSION);
    out.writeVarInt(incarnations.size());
    incarnations.keySet().forEach(incarnation -> incarnation.write(out));
    out.writeVarInt(snapshots.size());
    snapshots.keySet().forEach(snapshot -> snapshot.write(out));
    out.writeVarInt(states.size());
    states.keySet().forEach(this::writeState);
    out.writeVarInt(handles.size());
    handles.forEach(this::writeHandle);
  }

  private void collect(CheckpointHandle handle) {
    for (CheckpointHandle.Part part : handle.parts()) {
      part.materialization()
          .ifPresent(base -> base.files().forEach(file -> indexOf(file.blob().incarnation())));
      part.blocks().forEach(block -> indexOf(block.blob().incarnation()));
    }
    handle.tail().forEach(block -> indexOf(block.blob().incarnation()));
    intern(snapshots, handle.key());
    for (StateRegistration state : handle.states()) {
      intern(states, state);
      intern(snapshots, state.namespace());
      state.values().forEach(value -> intern(snapshots, value));
    }
  }

  private int indexOf(Incarnation incarnation) {
    if (!Objects.equals(incarnation, lastIncarnation)) {
      intern(incarnations, incarnation);
      lastIndex = Objects.requireNonNull(incarnations.get(incarnation), "interned");
      lastIncarnation = incarnation;
    }
    return lastIndex;
  }

  private static <T> void intern(Map<T, Integer> table, T value) {
    table.putIfAbsent(value, table.size());
  }

  private <T> void writeIndex(Map<T, Integer> table, T value) {
    out.writeVarInt(Objects.requireNonNull(table.get(value), "collected before"));
  }

  private void writeState(StateRegistration state) {
    out.writeString(state.name());
    out.writeVarInt(state.id());
    out.writeByte(state.kind().code());
    writeIndex(snapshots, state.namespace());
    out.writeVarInt(state.values().size());
    state.values().forEach(value -> writeIndex(snapshots, value));
  }

  private void writeHandle(CheckpointHandle handle) {
    out.writeVarLong(handle.checkpointId());
    out.writeVarInt(handle.keyGroups().from());
    out.writeVarInt(handle.keyGroups().to());
    out.writeVarInt(handle.maxParallelism());
    out.writeVarLong(handle.end());
    out.writeVarInt(handle.parts().size());
    for (CheckpointHandle.Part part : handle.parts()) {
      out.writeVarInt(part.keyGroups().from());
      out.writeVarInt(part.keyGroups().to());
      out.writeByte(part.materialization().isPresent() ? 1 : 0);
      part.materialization().ifPresent(this::writeMaterialization);
      writeBlocks(part.blocks());
    }
    writeBlocks(handle.tail());
    writeIndex(snapshots, handle.key());
    out.writeVarInt(handle.states().size());
    handle.states().forEach(state -> writeIndex(states, state));
  }

  private void writeMaterialization(Materialization materialization) {
    out.writeString(materialization.format());
    out.writeVarLong(materialization.position());
    out.writeVarLong(materialization.containedUpTo());
    out.writeVarInt(materialization.files().size());
    for (TableFile file : materialization.files()) {
      out.writeString(file.name());
      writeBlob(file.blob());
      out.writeVarLong(file.sizeBytes());
      out.writeInt(file.crc32c());
      out.writeByte(file.immutable() ? 1 : 0);
      before = new BlockRef(file.blob(), 0, 0, before.toSqn(), before.toSqn());
    }
  }

  private void writeBlob(BlobName blob) {
    out.writeVarInt(
        indexOf(blob.incarnation()) << 1 | (blob.kind() == BlobName.Kind.TABLE ? 1 : 0));
    writeSigned(blob.counter() - before.blob().counter());
  }

  private void writeBlocks(List<BlockRef> blocks) {
    out.writeVarInt(blocks.size());
    for (BlockRef block : blocks) {
      boolean sameBlob = block.blob().equals(before.blob());
      boolean adjacentSqn = block.fromSqn() == before.toSqn();
      boolean adjacentOffset = sameBlob && block.offset() == before.offset() + before.length();
      out.writeByte(
          (sameBlob ? CheckpointHandleFormat.BLOCK_SAME_BLOB : 0)
              | (adjacentSqn ? CheckpointHandleFormat.BLOCK_ADJACENT_SQN : 0)
              | (adjacentOffset ? CheckpointHandleFormat.BLOCK_ADJACENT_OFFSET : 0));
      if (!sameBlob) {
        writeBlob(block.blob());
      }
      if (!adjacentOffset) {
        out.writeVarLong(block.offset());
      }
      out.writeVarInt(block.length());
      if (!adjacentSqn) {
        writeSigned(block.fromSqn() - before.toSqn());
      }
      out.writeVarLong(block.toSqn() - block.fromSqn());
      before = block;
    }
  }

  /** Small numbers of either sign in few bytes. */
  private void writeSigned(long value) {
    out.writeVarLong(value << 1 ^ value >> 63);
  }
}
