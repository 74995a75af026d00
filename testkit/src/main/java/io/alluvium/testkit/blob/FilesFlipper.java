package io.alluvium.testkit.blob;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Damages every byte of a store in turn, and checks each time that verification reports the damage.
 * Confined to one thread.
 */
public final class FilesFlipper {

  private static final int BITS = 8;

  private final MapBlobStore store;
  private final Supplier<List<String>> verify;
  private final List<String> missed = new ArrayList<>();
  private int tried;

  /**
   * Damages one store.
   *
   * @param verify reports the problems of the store, naming the blob; empty if there are none
   */
  public FilesFlipper(MapBlobStore store, Supplier<List<String>> verify) {
    this.store = store;
    this.verify = verify;
  }

  /** Inverts bits of every byte of the blobs whose names match. */
  public void flipEveryByte(Predicate<String> names, int bitsPerByte) {
    for (Map.Entry<String, byte[]> blob : store.content().entrySet()) {
      for (int at = 0; names.test(blob.getKey()) && at < blob.getValue().length; at++) {
        for (int i = 0; i < bitsPerByte; i++) {
          int bit = (at + i) % BITS;
          store.flip(blob.getKey(), at, bit);
          look(blob.getKey(), "bit " + bit + " of byte " + at);
          store.flip(blob.getKey(), at, bit);
        }
      }
    }
  }

  /** Truncates every blob to some lengths, and removes it. */
  public void truncateEveryBlob(Predicate<String> names) {
    for (Map.Entry<String, byte[]> blob : store.content().entrySet()) {
      int size = blob.getValue().length;
      for (int length = size - 1; names.test(blob.getKey()) && length >= 0; ) {
        store.truncate(blob.getKey(), length);
        look(blob.getKey(), "truncated to " + length + " of " + size);
        store.restore(blob.getKey(), blob.getValue());
        length = length == 0 ? -1 : length - 1 - length / 4;
      }
    }
  }

  private void look(String blob, String damage) {
    tried++;
    List<String> problems = verify.get();
    if (problems.stream().noneMatch(problem -> problem.contains(blob))) {
      missed.add(blob + ", " + damage + ": " + problems);
    }
  }

  /** Damage that was not reported, or reported without the name of the blob. */
  public List<String> missed() {
    return List.copyOf(missed);
  }

  /** Number of damages tried. */
  public int tried() {
    return tried;
  }
}
