package io.alluvium.dstl;

import io.alluvium.config.Option;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.ChangelogStorageProvider;
import java.util.List;

/**
 * {@code state.backend.changelog.storage = memory}, for tests only: segments stay in the memory of
 * the process. Another backend of the same process can restore from them; nothing survives the
 * process, and a checkpoint directory that names them is useless without it. A segment is freed
 * when every change in it has been trimmed.
 */
public final class MemoryStorageProvider implements ChangelogStorageProvider {

  @Override
  public String name() {
    return "memory";
  }

  @Override
  public List<Option<?>> options() {
    return DstlOptions.ALL;
  }

  @Override
  public ChangelogStorage open(Context context) {
    MemorySegments segments = new MemorySegments();
    return new DstlStorage(
        context.execution(),
        new Uploader(context, segments, segment -> segments.delete(List.of(segment.toString()))));
  }
}
