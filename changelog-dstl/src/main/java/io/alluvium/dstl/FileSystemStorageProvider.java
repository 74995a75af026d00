package io.alluvium.dstl;

import io.alluvium.config.Option;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.ChangelogStorageProvider;
import java.util.List;

/** {@code state.backend.changelog.storage = filesystem}: segments go into the blob store. */
public final class FileSystemStorageProvider implements ChangelogStorageProvider {

  @Override
  public String name() {
    return "filesystem";
  }

  @Override
  public List<Option<?>> options() {
    return DstlOptions.ALL;
  }

  @Override
  public ChangelogStorage open(Context context) {
    // Deleting segments is the catalog's: it alone knows what retained checkpoints still name.
    return new DstlStorage(
        context.execution(), new Uploader(context, context.store(), segment -> {}));
  }
}
