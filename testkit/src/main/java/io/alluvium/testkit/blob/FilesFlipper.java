package io.alluvium.testkit.blob;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Damages a store in every single place, one after the other, and asks each time whether it shows.
 * Confined to one thread.
 */
public final class FilesFlipper {

  private static final int BITS = 8;

  private final MapBlobStore store;
  private final Supplier<List<String>> verify;
  private final List<String> missed = new ArrayList<>();
  private int tried;

  /**
   * A flipper of one store.
   *
   * @param verify tells what is wrong with the store now, naming the blob; empty when all is sound
   */
  public FilesFlipper(MapBlobStore store, Supplier<List<String>> verify) {
    this.store = store;
    this.verify = verify;
  }

  /** Inverts a bit of every byte of the blobs whose name is wanted. */
  public void flipEveryByte(Predicate<String> wanted, int bitsPerByte) {
    for (Map.Entry<String, byte[]> blob : store.content().entrySet()) {
      for (int at = 0; wanted.test(blob.getKey()) && at < blob.getValue().length; at++) {
        for (int i = 0; i < bitsPerByte; i++) {
          int bit = (at + i) % BITS;
          store.flip(blob.getKey(), at, bit);
          look(blob.getKey(), "bit " + bit + " of byte " + at);
          store.flip(blob.getKey(), at, bit);
        }
      }
    }
  }

  /** Cuts every blob off at some lengths, and takes it away. */
  public void cutEveryBlob(Predicate<String> wanted) {
    for (Map.Entry<String, byte[]> blob : store.content().entrySet()) {
      int size = blob.getValue().length;
      for (int length = size - 1; wanted.test(blob.getKey()) && length >= 0; ) {
        store.truncate(blob.getKey(), length);
        look(blob.getKey(), "cut to " + length + " of " + size);
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

  /** Damage that did not show, or whose blob was not named. */
  public List<String> missed() {
    return List.copyOf(missed);
  }

  /** How many places were damaged. */
  public int tried() {
    return tried;
  }
}
