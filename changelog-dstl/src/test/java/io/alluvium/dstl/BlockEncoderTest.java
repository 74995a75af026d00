package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Operation;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.table.Change;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Any changes, encoded and decoded, are the same; within a key group in the same order. */
final class BlockEncoderTest {

  private static final String BLOB = new BlobName(Log.INCARNATION, 3, BlobName.Kind.LOG).toString();

  private final BufferPool pool = new BufferPool();

  static Stream<Long> seeds() {
    return Seeds.of(60);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void anyBlock_decodesToWhatWasAppended(long seed) {
    Random random = new Random(seed);
    BlockFormat.Codec codec = random.nextBoolean() ? BlockFormat.Codec.NONE : BlockFormat.Codec.LZ4;
    BlockEncoder encoder = new BlockEncoder(codec);
    // One encoder for several blocks: nothing may be left from the one before.
    for (int i = 0; i < 3; i++) {
      roundTrip(random, encoder);
    }
    assertThat(pool.heldBuffers()).isZero();
  }

  private void roundTrip(Random random, BlockEncoder encoder) {
    int from = random.nextInt(3) == 0 ? 0 : random.nextInt(32_000);
    int size = 1 + random.nextInt(random.nextBoolean() ? 4 : KeyGroupRange.MAX_KEY_GROUPS - from);
    KeyGroupRange range = new KeyGroupRange(from, from + size);
    long start = random.nextInt(4) == 0 ? Long.MAX_VALUE / 2 : random.nextInt(1000);
    List<Change> changes = new ArrayList<>();
    byte[] raw = new byte[400_000];
    int length = 0;
    int count = 1 + random.nextInt(random.nextBoolean() ? 10 : 5_000);
    boolean repetitive = random.nextBoolean();
    for (int i = 0; i < count && length < 256 << 10; i++) {
      Change change = change(random, range, start + i, repetitive);
      changes.add(change);
      length =
          RawChanges.write(
              raw,
              length,
              change.operation(),
              change.key(),
              change.key().length,
              change.value(),
              change.value().length);
    }
    BlockEncoder.Encoded encoded =
        encoder.encode(
            new BlockEncoder.Source(77, range, start, changes.size(), raw, length), pool);
    DecodedBlock decoded = decode(encoded, start, changes.size(), range);
    pool.release(encoded.buffer());
    List<Change> read = new ArrayList<>();
    Log.readInto(decoded, range, read);
    assertThat(decoded.head().changelogId()).isEqualTo(77);
    read.sort(Comparator.comparingLong(Change::sqn));
    assertThat(Log.lines(read)).isEqualTo(Log.lines(changes));
  }

  private static Change change(Random random, KeyGroupRange range, long sqn, boolean repetitive) {
    Operation operation = Operation.ofCode(1 + random.nextInt(4));
    boolean valued = operation == Operation.PUT || operation == Operation.MERGE;
    byte[] key = new byte[2 + random.nextInt(random.nextInt(50) == 0 ? 20_000 : 30)];
    byte[] value = new byte[valued ? random.nextInt(random.nextInt(50) == 0 ? 70_000 : 30) : 0];
    if (!repetitive) {
      random.nextBytes(key);
      random.nextBytes(value);
    }
    int keyGroup = range.from() + random.nextInt(range.size());
    key[0] = (byte) (keyGroup >>> 8);
    key[1] = (byte) keyGroup;
    return new Change(sqn, operation, key, value);
  }

  private static DecodedBlock decode(
      BlockEncoder.Encoded encoded, long start, int changes, KeyGroupRange range) {
    MapBlobStore store = new MapBlobStore();
    store.put(BLOB, List.of(ByteBuffer.wrap(encoded.buffer().array(), 0, encoded.length())));
    return new BlockReader(store)
        .read(
            new BlockRef(BlobName.parse(BLOB), 0, encoded.length(), start, start + changes), range);
  }

  @Test
  void encode_smallChangesOfManyKeyGroups_fitsIntoAPooledBuffer() {
    KeyGroupRange range = new KeyGroupRange(0, 128);
    byte[] raw = new byte[BufferPool.ARRAY_BYTES];
    byte[] key = new byte[4];
    int length = 0;
    int count = 0;
    while (length + 12 <= BufferPool.BLOCK_BYTES) {
      key[1] = (byte) (count % 128);
      length = RawChanges.write(raw, length, Operation.DELETE, key, 4, key, 0);
      count++;
    }
    BlockEncoder.Encoded encoded =
        new BlockEncoder(BlockFormat.Codec.NONE)
            .encode(new BlockEncoder.Source(1, range, 0, count, raw, length), pool);
    assertThat(encoded.length()).isLessThan(BufferPool.BLOCK_BYTES);
  }

  @Test
  void encode_cutsChunksAtKeyGroupBorders() {
    KeyGroupRange range = new KeyGroupRange(0, 10);
    byte[] raw = new byte[BufferPool.ARRAY_BYTES];
    byte[] value = new byte[1_000];
    int length = 0;
    // Key group 4 alone is longer than a chunk should be.
    int[] perKeyGroup = {30, 30, 30, 1, 100, 1, 1, 0, 0, 2};
    int count = 0;
    for (int keyGroup = 0; keyGroup < perKeyGroup.length; keyGroup++) {
      byte[] key = {0, (byte) keyGroup, 1};
      for (int i = 0; i < perKeyGroup[keyGroup]; i++) {
        length = RawChanges.write(raw, length, Operation.PUT, key, 3, value, 1_000);
        count++;
      }
    }
    BlockEncoder.Encoded encoded =
        new BlockEncoder(BlockFormat.Codec.NONE)
            .encode(new BlockEncoder.Source(1, range, 0, count, raw, length), pool);
    BlockHead head = decode(encoded, 0, count, range).head();
    assertThat(head.chunks()).isEqualTo(4);
    int[] firstOfChunk = new int[4];
    for (int entry = head.entries() - 1; entry >= 0; entry--) {
      firstOfChunk[head.chunkOf(head.keyGroupRawAt(entry))] = head.keyGroup(entry);
    }
    assertThat(firstOfChunk).containsExactly(0, 2, 4, 5);
  }

  @Test
  void varInts_haveTheLengthTheyClaim() {
    byte[] array = new byte[8];
    for (int bit = 0; bit < 32; bit++) {
      for (int value : new int[] {1 << bit, (1 << bit) - 1, -1 >>> bit}) {
        assertThat(Bytes.putVarInt(array, 0, value))
            .as("%d", value)
            .isEqualTo(Bytes.varIntLength(value));
      }
    }
  }
}
