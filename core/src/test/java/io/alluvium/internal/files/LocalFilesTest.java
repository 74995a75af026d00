package io.alluvium.internal.files;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LocalFilesTest {
  @TempDir Path dir;

  @Test
  void deleteTree_missingDirectory_isIgnored() throws IOException {
    LocalFiles.deleteTree(dir.resolve("absent"));
  }

  @Test
  void deleteTree_concurrentCalls_allSucceed() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(3);
    try {
      for (int round = 0; round < 30; round++) {
        Path tree = dir.resolve("tree-" + round);
        for (int i = 0; i < 60; i++) {
          Path file = tree.resolve("d" + i % 6).resolve("f" + i);
          Files.createDirectories(file.getParent());
          Files.createFile(file);
        }
        CyclicBarrier start = new CyclicBarrier(3);
        List<Future<?>> deletions = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
          deletions.add(
              threads.submit(
                  () -> {
                    start.await();
                    LocalFiles.deleteTree(tree);
                    return null;
                  }));
        }
        for (Future<?> deletion : deletions) {
          deletion.get();
        }
        assertThat(tree).doesNotExist();
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
