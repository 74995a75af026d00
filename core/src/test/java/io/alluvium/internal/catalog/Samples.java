package io.alluvium.internal.catalog;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateKind;
import io.alluvium.StateRegistration;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.TableFile;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Handles and records for tests. */
final class Samples {

  static final Incarnation FIRST = new Incarnation(0x0123456789abcdefL, 0xfedcba9876543210L);

  static final SerializerSnapshot STRING = new SerializerSnapshot("string", 1, new byte[0]);

  static final SerializerSnapshot LONG = new SerializerSnapshot("long", 1, new byte[0]);

  static final SerializerSnapshot NOTHING = new SerializerSnapshot("void", 1, new byte[0]);

  static final StateRegistration COUNT =
      new StateRegistration("count", 300, StateKind.VALUE, NOTHING, List.of(LONG));

  private Samples() {}

  /** The takeover record of the worked example. */
  static SlotRecord.Takeover exampleTakeover() {
    return new SlotRecord.Takeover(header(5, 4));
  }

  /** The manifest of the worked example. */
  static SlotRecord.Manifest exampleManifest() {
    Materialization files =
        new Materialization(
            "sst-5",
            1000,
            1400,
            List.of(new TableFile("000009.sst", table(FIRST, 3), 70_000, 0x12345678, true)));
    CheckpointHandle handle =
        new CheckpointHandle(
            7,
            new KeyGroupRange(0, 128),
            128,
            5000,
            List.of(
                new CheckpointHandle.Part(
                    new KeyGroupRange(0, 128), Optional.of(files), List.of())),
            List.of(
                new BlockRef(log(FIRST, 4), 40, 20_000, 900, 3000),
                new BlockRef(log(FIRST, 4), 20_040, 9_000, 3000, 4000),
                new BlockRef(log(FIRST, 6), 40, 8_000, 4000, 5000)),
            STRING,
            List.of(COUNT));
    return new SlotRecord.Manifest(
        header(6, 5), 7, List.of(handle), "offset=42".getBytes(UTF_8), List.of());
  }

  private static SlotRecord.Header header(long slot, long follows) {
    return new SlotRecord.Header(
        "wordcount", slot, follows, FIRST, "0.1.0", Instant.parse("2026-01-02T03:04:05.678Z"));
  }

  static BlobName table(Incarnation incarnation, long counter) {
    return new BlobName(incarnation, counter, BlobName.Kind.TABLE);
  }

  static BlobName log(Incarnation incarnation, long counter) {
    return new BlobName(incarnation, counter, BlobName.Kind.LOG);
  }

  /** A handle over key groups [0, 16) whose tail is one block in each of these segments. */
  static CheckpointHandle handle(long checkpointId, List<BlobName> blobs) {
    List<TableFile> files = new ArrayList<>();
    List<BlockRef> blocks = new ArrayList<>();
    for (BlobName blob : blobs) {
      if (blob.kind() == BlobName.Kind.TABLE) {
        files.add(new TableFile(blob.counter() + ".sst", blob, 4, Owner.contentChecksum(), true));
      } else {
        long sqn = 10L * blocks.size();
        blocks.add(new BlockRef(blob, 0, 4, sqn, sqn + 10));
      }
    }
    KeyGroupRange all = new KeyGroupRange(0, 16);
    List<CheckpointHandle.Part> parts =
        files.isEmpty()
            ? List.of()
            : List.of(
                new CheckpointHandle.Part(
                    all, Optional.of(new Materialization("sst-5", 0, 0, files)), List.of()));
    return new CheckpointHandle(
        checkpointId, all, 16, 10L * blocks.size(), parts, blocks, STRING, List.of(COUNT));
  }
}
