package io.alluvium.suite;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointInspector.Verification;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.TableFile;
import io.alluvium.state.ListState;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A program that stores large values, or one large list, restores them from the log and from table
 * files, and compares. {@link LargeValuesTest} runs it in JVMs with bounded memory. Confined to one
 * thread.
 */
final class LargeValues {

  private static final KeyGroupRange ALL = new KeyGroupRange(0, 16);

  /** What is stored, and with which settings. */
  private final Map<String, String> settings = new LinkedHashMap<>();

  private final boolean list;
  private final boolean beyond;
  private final boolean materialized;
  private final int values;
  private final int valueBytes;
  private long lastCheckpoint;

  /** One open backend. */
  private record Open(
      StateBackend backend,
      KeyedBackend<Long> keyed,
      ValueState<byte[]> state,
      ListState<byte[]> listState) {}

  /**
   * Takes {@code values|list[-beyond] log|cut|materialized VALUES VALUE_BYTES KEY=VALUE...};
   * beyond: tries changes beyond the limit, too, which takes 2 GB.
   */
  private LargeValues(String[] args) {
    this.list = args[0].startsWith("list");
    this.beyond = args[0].endsWith("-beyond");
    this.materialized = args[1].equals("materialized");
    this.values = Integer.parseInt(args[2]);
    this.valueBytes = Integer.parseInt(args[3]);
    settings.put("state.backend.changelog.enabled", String.valueOf(!args[1].equals("cut")));
    settings.put(
        "state.backend.changelog.periodic-materialize.interval", materialized ? "100ms" : "0");
    for (String setting : Arrays.asList(args).subList(4, args.length)) {
      int equals = setting.indexOf('=');
      settings.put(setting.substring(0, equals), setting.substring(equals + 1));
    }
  }

  public static void main(String[] args) {
    LargeValues program = new LargeValues(args);
    program.store();
    program.restore();
  }

  private void store() {
    try (StateBackend backend = StateBackend.open(settings)) {
      backend.catalog().takeOver("large");
      Open open = open(backend, backend.keyed(Serializers.int64(), ALL.size(), ALL));
      for (long key = 0; key < values; key++) {
        write(open, key);
      }
      checkpointUntilStored(open);
      if (beyond) {
        refuse(open);
      }
      // What was refused left nothing behind, and the backend goes on.
      compare(open);
      CheckpointHandle unused = checkpoint(open);
    }
    System.out.println("stored");
  }

  private void restore() {
    try (StateBackend backend = StateBackend.open(settings)) {
      Checkpoint last = backend.catalog().takeOver("large").orElseThrow();
      System.out.println("largest table file " + largestFile(last));
      Open open =
          open(
              backend,
              backend.keyed(
                  Serializers.int64(),
                  ALL.size(),
                  ALL,
                  last.handles(),
                  backend.catalog().restoreMode()));
      compare(open);
      Verification verification = backend.inspector().verify(last.id(), (blob, bytes) -> {});
      if (!verification.problems().isEmpty()) {
        throw new AssertionError(verification.problems());
      }
    }
    System.out.println("restored");
  }

  private static long largestFile(Checkpoint checkpoint) {
    return checkpoint.handles().stream()
        .flatMap(handle -> handle.parts().stream())
        .flatMap(part -> part.materialization().stream())
        .flatMap(files -> files.files().stream())
        .mapToLong(TableFile::sizeBytes)
        .max()
        .orElse(0);
  }

  private static Open open(StateBackend backend, KeyedBackend<Long> keyed) {
    return new Open(
        backend,
        keyed,
        keyed.state(StateDescriptor.value("v", Serializers.bytes())),
        keyed.state(StateDescriptor.list("l", Serializers.bytes())));
  }

  private void write(Open open, long index) {
    if (list) {
      open.keyed.setCurrentKey(0L);
      open.listState.add(value(index));
    } else {
      open.keyed.setCurrentKey(index);
      open.state.update(value(index));
    }
  }

  /** One more byte than a change may have: refused, and the values stay. */
  private void refuse(Open open) {
    open.keyed.setCurrentKey(0L);
    expectInvalid(() -> open.state.update(new byte[Changelog.MAX_CHANGE_BYTES]));
    expectInvalid(() -> open.listState.add(new byte[Changelog.MAX_CHANGE_BYTES]));
  }

  private static void expectInvalid(Runnable change) {
    try {
      change.run();
    } catch (StateBackendException e) {
      String message = String.valueOf(e.getMessage());
      if (e.kind() == StateBackendException.Kind.INVALID
          && message.contains(String.valueOf(Changelog.MAX_CHANGE_BYTES))
          && message.contains("map state")) {
        return;
      }
      throw e;
    }
    throw new AssertionError("a change beyond the limit was accepted");
  }

  private void checkpointUntilStored(Open open) {
    while (true) {
      CheckpointHandle handle = checkpoint(open);
      boolean files =
          handle.tail().isEmpty()
              && handle.parts().stream().anyMatch(part -> part.materialization().isPresent());
      if (!materialized || files) {
        return;
      }
      open.keyed.idle();
    }
  }

  private CheckpointHandle checkpoint(Open open) {
    CheckpointHandle handle = open.keyed.checkpoint(++lastCheckpoint).join();
    open.backend.catalog().commit(handle.checkpointId(), List.of(handle), new byte[0]);
    open.keyed.confirm(handle.checkpointId());
    return handle;
  }

  private void compare(Open open) {
    if (list) {
      open.keyed.setCurrentKey(0L);
      List<byte[]> elements = open.listState.get();
      if (elements.size() != values) {
        throw new AssertionError(elements.size() + " elements of " + values);
      }
      for (int i = 0; i < values; i++) {
        check(elements.get(i), i);
      }
      return;
    }
    for (long key = 0; key < values; key++) {
      open.keyed.setCurrentKey(key);
      check(open.state.value(), key);
    }
  }

  private void check(byte @Nullable [] found, long index) {
    if (!Arrays.equals(found, value(index))) {
      throw new AssertionError("another value of " + index);
    }
  }

  /** Bytes that cannot be compressed. */
  private byte[] value(long index) {
    byte[] value = new byte[valueBytes];
    new Random(index).nextBytes(value);
    return value;
  }
}
