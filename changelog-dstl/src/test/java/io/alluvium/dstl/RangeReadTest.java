package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangeBlock;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Operation;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.table.Change;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Only the bytes that the key groups asked for need are read. */
final class RangeReadTest {

  private final StepExecution execution = new StepExecution();
  private final MapBlobStore map = new MapBlobStore();
  private final CountingStore store = new CountingStore(map);
  private final List<Change> written = new ArrayList<>();

  /** One full block of 8 key groups with the same share each. */
  private BlockRef write(Log log) {
    Changelog changelog = log.open(1);
    Random random = new Random(3);
    for (int i = 0; i < 2_400; i++) {
      byte[] key = {0, (byte) random.nextInt(8), 7, 1, (byte) i, 0};
      byte[] value = new byte[80];
      random.nextBytes(value);
      Change change = new Change(i, Operation.PUT, key, value);
      written.add(change);
      Log.append(changelog, change);
    }
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    execution.runTasks();
    assertThat(future.join()).hasSize(1);
    return future.join().get(0);
  }

  private void checkRead(Log log, BlockRef block, KeyGroupRange range) {
    store.forget();
    List<String> expected =
        Log.lines(written.stream().filter(change -> range.contains(change.key()[1])).toList());
    assertThat(Log.lines(log.read(List.of(block), range))).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void read_partOfABlock_readsOnlyItsChunks(String compression) {
    Log log = new Log(store, execution, Map.of("dstl.dfs.compression.enabled", compression));
    BlockRef block = write(log);
    assertThat(block.length()).isGreaterThan(200_000);

    checkRead(log, block, Log.KEY_GROUPS);
    assertThat(store.opened()).as("requests for the whole").isEqualTo(1);
    assertThat(store.bytesRead()).isEqualTo(block.length());

    // A chunk holds two of the eight key groups.
    checkRead(log, block, new KeyGroupRange(4, 5));
    assertThat(store.opened()).isEqualTo(2);
    assertThat(store.bytesRead()).isLessThan(block.length() * 3L / 8);

    checkRead(log, block, new KeyGroupRange(0, 1));
    assertThat(store.opened()).as("the first chunk comes next anyway").isEqualTo(1);
    assertThat(store.bytesRead()).isLessThan(block.length() * 3L / 8);

    checkRead(log, block, new KeyGroupRange(2, 8));
    assertThat(store.opened()).as("most is wanted").isEqualTo(1);

    checkRead(log, block, new KeyGroupRange(8, 100));
    assertThat(store.opened()).isEqualTo(1);
    assertThat(store.bytesRead()).as("only the head").isLessThan(300);
  }

  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void read_partOfABlock_isNotDisturbedByDamageElsewhere(String compression) {
    Log log = new Log(store, execution, Map.of("dstl.dfs.compression.enabled", compression));
    BlockRef block = write(log);
    map.flip(block.blob().toString(), (int) block.offset() + block.length() - 1, 0);
    checkRead(log, block, new KeyGroupRange(0, 1));
    assertThatThrownBy(() -> log.read(List.of(block), new KeyGroupRange(7, 8)))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("damaged at offset");
  }

  @ParameterizedTest
  @ValueSource(strings = {"false", "true"})
  void changes_ofAKeyGroupThatWasNotAskedFor_throws(String compression) {
    Log log = new Log(store, execution, Map.of("dstl.dfs.compression.enabled", compression));
    BlockRef block = write(log);
    ChangeBlock decoded = execution.await(log.storage.read(block, new KeyGroupRange(2, 4)));
    assertThatThrownBy(() -> decoded.changes(4)).hasMessageContaining("[2, 4)");
  }
}
