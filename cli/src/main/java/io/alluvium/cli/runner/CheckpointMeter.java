package io.alluvium.cli.runner;

import io.alluvium.CheckpointHandle;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.TableFile;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Tells what a checkpoint wrote and holds, from its handles. Confined to the coordinator's thread.
 */
public final class CheckpointMeter {

  /** Whether blocks of the log, or files of tables, are written for a checkpoint. */
  private final boolean changelog;

  private Set<Object> known = new HashSet<>();

  /**
   * @param changelog whether the changelog is enabled
   */
  CheckpointMeter(ChangelogMode changelog) {
    this.changelog = changelog == ChangelogMode.ENABLED;
  }

  /** Whether the job logs its changes. */
  enum ChangelogMode {
    ENABLED,
    DISABLED
  }

  /**
   * Sizes of one checkpoint. Immutable.
   *
   * @param flushed bytes that were not there before
   * @param full bytes of everything that it names
   * @param blocks of the changelog
   * @param materialization its files, for people; "-" when there are none
   */
  public record Sizes(long flushed, long full, int blocks, String materialization) {}

  /** Sizes of one checkpoint by itself. */
  public static Sizes sizesOf(List<CheckpointHandle> handles) {
    return new CheckpointMeter(ChangelogMode.DISABLED).measure(handles);
  }

  /** What was there before counts as known: the handles of the checkpoint that was restored. */
  void restored(List<CheckpointHandle> handles) {
    Sizes unused = measure(handles);
  }

  /** Measures the next checkpoint. */
  Sizes measure(List<CheckpointHandle> handles) {
    Set<Object> named = new HashSet<>();
    long full = 0;
    long flushed = 0;
    int blocks = 0;
    int files = 0;
    long fileBytes = 0;
    for (CheckpointHandle handle : handles) {
      for (CheckpointHandle.Part part : handle.parts()) {
        for (TableFile file :
            part.materialization().map(Materialization::files).orElse(List.of())) {
          BlobName blob = file.blob();
          if (named.add(blob)) {
            full += file.sizeBytes();
            fileBytes += file.sizeBytes();
            files++;
            flushed += changelog || known.contains(blob) ? 0 : file.sizeBytes();
          }
        }
      }
      for (BlockRef block : blocksOf(handle)) {
        if (named.add(block)) {
          full += block.length();
          blocks++;
          flushed += known.contains(block) ? 0 : block.length();
        }
      }
    }
    known = named;
    String materialization = files == 0 ? "-" : files + " files, " + Bytes.shown(fileBytes);
    return new Sizes(flushed, full, blocks, materialization);
  }

  private static List<BlockRef> blocksOf(CheckpointHandle handle) {
    Set<BlockRef> blocks = new java.util.LinkedHashSet<>(handle.tail());
    handle.parts().forEach(part -> blocks.addAll(part.blocks()));
    return List.copyOf(blocks);
  }
}
