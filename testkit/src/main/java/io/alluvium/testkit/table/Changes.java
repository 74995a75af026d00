package io.alluvium.testkit.table;

import io.alluvium.KeyGroupRange;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Operation;
import java.util.Random;

/**
 * Generates random changes like those of typed states: values, lists with tagged operands, maps,
 * and rows or whole states deleted by prefix. Uses few keys, so that changes hit the same ones.
 * Confined to one thread.
 */
public final class Changes {

  private static final int[] VALUE_STATES = {3, 70_001};
  private static final int[] LIST_STATES = {200, 1_999_999_999};
  private static final int[] MAP_STATES = {5, 129};
  private static final int KEYS = 4;
  private static final int USER_KEYS = 4;

  private final Random random;
  private final KeyGroupRange keyGroups;
  private long sqn;

  /**
   * @param keyGroups of the generated keys
   * @param startSqn sequence number of the first change
   */
  public Changes(Random random, KeyGroupRange keyGroups, long startSqn) {
    this.random = random;
    this.keyGroups = keyGroups;
    this.sqn = startSqn;
  }

  /** The sequence number of the next change. */
  public long nextSqn() {
    return sqn;
  }

  public Change next() {
    int dice = random.nextInt(100);
    if (dice < 30) {
      return put(row(any(VALUE_STATES)), bytes());
    } else if (dice < 38) {
      return change(Operation.DELETE, row(any(VALUE_STATES)), new byte[0]);
    } else if (dice < 60) {
      return change(Operation.MERGE, row(any(LIST_STATES)), operand());
    } else if (dice < 66) {
      return put(row(any(LIST_STATES)), operand());
    } else if (dice < 70) {
      return change(Operation.DELETE, row(any(LIST_STATES)), new byte[0]);
    } else if (dice < 88) {
      return put(entry(any(MAP_STATES)), bytes());
    } else if (dice < 94) {
      return change(Operation.DELETE, entry(any(MAP_STATES)), new byte[0]);
    } else if (dice < 99) {
      return change(Operation.DELETE_RANGE, row(any(MAP_STATES)), new byte[0]);
    }
    ByteWriter state = new ByteWriter();
    KeyLayout.writeState(state, keyGroup(), any(MAP_STATES));
    return change(Operation.DELETE_RANGE, state.toByteArray(), new byte[0]);
  }

  private Change put(byte[] key, byte[] value) {
    return change(Operation.PUT, key, value);
  }

  private Change change(Operation operation, byte[] key, byte[] value) {
    return new Change(sqn++, operation, key, value);
  }

  private int any(int[] ids) {
    return ids[random.nextInt(ids.length)];
  }

  private int keyGroup() {
    return keyGroups.from() + random.nextInt(keyGroups.size());
  }

  private byte[] row(int state) {
    ByteWriter out = new ByteWriter();
    writeRow(out, state);
    return out.toByteArray();
  }

  private byte[] entry(int state) {
    ByteWriter out = new ByteWriter();
    writeRow(out, state);
    // Some user keys are prefixes of others, some consist of 0xff bytes, one is empty.
    for (int i = random.nextInt(USER_KEYS); i > 0; i--) {
      out.writeByte(0xff);
    }
    return out.toByteArray();
  }

  private void writeRow(ByteWriter out, int state) {
    KeyLayout.writeState(out, keyGroup(), state);
    int key = random.nextInt(KEYS);
    out.writeByteArray(key == 0 ? new byte[0] : new byte[] {(byte) (key * 0x55), (byte) 0xff});
    out.writeByteArray(random.nextInt(3) == 0 ? new byte[] {(byte) 0xfe} : new byte[0]);
  }

  private byte[] bytes() {
    byte[] bytes = new byte[random.nextInt(20) == 0 ? random.nextInt(3_000) : random.nextInt(6)];
    random.nextBytes(bytes);
    return bytes;
  }

  /** An operand tagged with the sequence number of its change. */
  private byte[] operand() {
    ByteWriter out = new ByteWriter();
    out.writeLong(sqn);
    out.writeByteArray(bytes());
    return out.toByteArray();
  }

  /** Whether a generated key belongs to a list. */
  static boolean isList(byte[] key) {
    ByteReader in = new ByteReader(key);
    in.skip(KeyLayout.KEY_GROUP_BYTES);
    int state = in.readVarInt();
    return state == LIST_STATES[0] || state == LIST_STATES[1];
  }
}
