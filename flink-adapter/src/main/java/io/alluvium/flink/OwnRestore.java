package io.alluvium.flink;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedBackendSerializationProxy;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.StateSerializerProvider;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.util.StateMigrationException;
import org.jspecify.annotations.Nullable;

/**
 * Reads the handles of Alluvium's own checkpoints and native savepoints: tells the blob store where
 * the blobs are, and the catalog which states there are. Used once, on the task thread.
 */
final class OwnRestore<K> {

  private final FlinkBlobStore store;
  private final StateCatalog states;
  private final StateSerializerProvider<K> keySerializer;
  private final ClassLoader userLoader;
  private RestoreMode mode = RestoreMode.REUSE;
  private boolean keyChecked;

  OwnRestore(
      FlinkBlobStore store,
      StateCatalog states,
      StateSerializerProvider<K> keySerializer,
      ClassLoader userLoader) {
    this.store = store;
    this.states = states;
    this.keySerializer = keySerializer;
    this.userLoader = userLoader;
  }

  /** How the blobs may be used afterwards; known once {@link #read} has returned. */
  RestoreMode mode() {
    return mode;
  }

  /**
   * Reads the handles of one checkpoint.
   *
   * @param keyGroups what is restored, all of which the result covers
   */
  List<CheckpointHandle> read(List<KeyedStateHandle> handles, KeyGroupRange keyGroups)
      throws IOException, StateMigrationException {
    List<CheckpointHandle> own = new ArrayList<>();
    for (KeyedStateHandle handle : handles) {
      if (handle instanceof IncrementalRemoteKeyedStateHandle remote) {
        own.add(read(remote, remote.getPrivateState(), null));
      } else if (handle instanceof IncrementalLocalKeyedStateHandle local) {
        own.add(read(local, List.of(), local.getDirectoryStateHandle().getDirectory()));
      } else {
        throw StateBackendException.incompatible(
            "state of type "
                + handle.getClass().getSimpleName()
                + " is neither a checkpoint of Alluvium nor a savepoint; take a savepoint in the"
                + " canonical format with the old state backend and start from that");
      }
    }
    return own.isEmpty() ? own : covering(own, keyGroups);
  }

  /**
   * Core wants every key group from a handle of the same checkpoint. In Flink a subtask that had no
   * state yet has no handle, and each keyed backend counts its checkpoints for itself.
   */
  private static List<CheckpointHandle> covering(
      List<CheckpointHandle> own, KeyGroupRange keyGroups) {
    CheckpointHandle any = own.get(0);
    List<CheckpointHandle> all = new ArrayList<>();
    own.sort(Comparator.comparingInt(handle -> handle.keyGroups().from()));
    int covered = keyGroups.from();
    for (CheckpointHandle handle : own) {
      if (handle.keyGroups().from() > covered) {
        all.add(empty(any, new KeyGroupRange(covered, handle.keyGroups().from())));
      }
      all.add(
          new CheckpointHandle(
              any.checkpointId(),
              handle.keyGroups(),
              handle.maxParallelism(),
              handle.end(),
              handle.parts(),
              handle.tail(),
              handle.key(),
              handle.states()));
      covered = Math.max(covered, handle.keyGroups().to());
    }
    if (covered < keyGroups.to()) {
      all.add(empty(any, new KeyGroupRange(covered, keyGroups.to())));
    }
    return all;
  }

  private static CheckpointHandle empty(CheckpointHandle like, KeyGroupRange keyGroups) {
    return new CheckpointHandle(
        like.checkpointId(),
        keyGroups,
        like.maxParallelism(),
        0,
        List.of(),
        List.of(),
        like.key(),
        List.of());
  }

  private CheckpointHandle read(
      IncrementalKeyedStateHandle handle,
      List<HandleAndLocalPath> privateFiles,
      @Nullable Path directory)
      throws IOException, StateMigrationException {
    StreamStateHandle meta = handle.getMetaDataStateHandle();
    String from = "meta data " + meta.getStreamStateHandleID();
    byte[] bytes;
    try (InputStream in = meta.openInputStream()) {
      bytes = in.readAllBytes();
    }
    if (!MetaFormat.isOurs(bytes)) {
      throw StateBackendException.incompatible(
          from
              + " was not written by Alluvium but by another incremental state backend; take a"
              + " savepoint in the canonical format with that one and start from it");
    }
    MetaFormat.Meta read = MetaFormat.decode(bytes, from);
    Map<String, StreamStateHandle> files = new HashMap<>();
    for (HandleAndLocalPath file : handle.getSharedStateHandles()) {
      files.put(file.getLocalPath(), file.getHandle());
    }
    for (HandleAndLocalPath file : privateFiles) {
      // A savepoint's files are the user's; the first checkpoint stores its own.
      mode = RestoreMode.DETACHED;
      files.put(file.getLocalPath(), file.getHandle());
    }
    adopt(read, files, from);
    if (directory != null) {
      for (BlobName blob : read.handle().blobs()) {
        store.adoptCopy(blob, directory.resolve(LocalCopies.nameOf(blob)));
      }
    }
    readStates(read.flink());
    return read.handle();
  }

  private void adopt(MetaFormat.Meta read, Map<String, StreamStateHandle> files, String from) {
    Map<BlobName, MetaFormat.SharedBlob> shared = new HashMap<>();
    read.shared().forEach(blob -> shared.put(blob.name(), blob));
    for (BlobName blob : read.handle().blobs()) {
      MetaFormat.SharedBlob place = shared.get(blob);
      String file = place == null ? blob.toString() : place.file();
      StreamStateHandle handle = files.get(file);
      if (handle == null) {
        throw StateBackendException.corrupt(
            "'" + from + "' names file '" + file + "', which the checkpoint's handle has not");
      }
      store.adopt(
          blob,
          place == null ? handle.getStateSize() : place.sizeBytes(),
          new Place(handle, place == null ? 0 : place.offset()));
    }
  }

  private void readStates(byte[] flink) throws IOException, StateMigrationException {
    KeyedBackendSerializationProxy<K> proxy = new KeyedBackendSerializationProxy<>(userLoader);
    proxy.read(new DataInputDeserializer(flink));
    if (!keyChecked) {
      checkKey(proxy);
      keyChecked = true;
    }
    for (StateMetaInfoSnapshot snapshot : proxy.getStateMetaInfoSnapshots()) {
      StateCatalog.Entry unused = states.restored(snapshot);
    }
  }

  /** Keys are never rewritten. */
  private void checkKey(KeyedBackendSerializationProxy<K> proxy) throws StateMigrationException {
    TypeSerializer<K> current = keySerializer.currentSchemaSerializer();
    TypeSerializerSchemaCompatibility<K> compatibility =
        keySerializer.setPreviousSerializerSnapshotForRestoredState(
            proxy.getKeySerializerSnapshot());
    if (compatibility.isCompatibleAfterMigration() || compatibility.isIncompatible()) {
      throw new StateMigrationException(
          "The new key serializer ("
              + current
              + ") must be compatible with the previous key serializer ("
              + keySerializer.previousSchemaSerializer()
              + ").");
    }
  }
}
