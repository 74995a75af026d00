package io.alluvium.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.internal.backend.LocalDirectoriesProcess.Action;
import io.alluvium.internal.backend.LocalDirectoriesProcess.Ended;
import io.alluvium.internal.backend.ProcessDirectories.Chain;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ProcessDirectoriesTest {

  private static final KeyGroupRange RANGE = new KeyGroupRange(0, 4);

  @TempDir Path dir;

  private Path root() {
    return dir.resolve("local");
  }

  private List<LocalRoot> roots() {
    return List.of(new LocalRoot(root(), LocalRoot.Kind.CONFIGURED));
  }

  @Test
  void nothingIsMade_beforeItIsNeeded() {
    try (ProcessDirectories directories = new ProcessDirectories(roots())) {
      assertThat(directories).isNotNull();
    }
    assertThat(root()).doesNotExist();
  }

  @Test
  void table_survivesAnotherProcess_andGoesWithItsOwn() throws Exception {
    try (ProcessDirectories directories = new ProcessDirectories(roots())) {
      Path table = directories.table(RANGE);
      assertThat(elsewhere(Action.CLOSE).status()).isZero();
      assertThat(table).isDirectory();
      try (ProcessDirectories second = new ProcessDirectories(roots())) {
        assertThat(second.table(RANGE)).isNotEqualTo(table);
      }
      assertThat(elsewhere(Action.CLOSE).status()).isZero();
      assertThat(table).isDirectory();
    }
    assertThat(entries()).isEmpty();
  }

  /** As in an application server: its lock table is per JVM, its classes are not. */
  @Test
  void table_survivesAnotherCopyOfTheLibraryInThisProcess() throws Exception {
    try (ProcessDirectories directories = new ProcessDirectories(roots());
        URLClassLoader copy =
            new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader())) {
      Path table = directories.table(RANGE);
      openAndCloseIn(copy);
      assertThat(elsewhere(Action.CLOSE).status()).isZero();
      assertThat(table).isDirectory();
    }
    assertThat(entries()).isEmpty();
  }

  private void openAndCloseIn(ClassLoader copy) throws Exception {
    Class<?> rootType = copy.loadClass(LocalRoot.class.getName());
    Class<?> kind = copy.loadClass(LocalRoot.Kind.class.getName());
    Constructor<?> newRoot = rootType.getDeclaredConstructor(Path.class, kind);
    newRoot.setAccessible(true);
    Object root = newRoot.newInstance(root(), kind.getEnumConstants()[0]);
    Class<?> other = copy.loadClass(LocalDirectoriesProcess.class.getName());
    assertThat(other).isNotEqualTo(LocalDirectoriesProcess.class);
    Method open = other.getDeclaredMethod("openAndClose", List.class);
    open.setAccessible(true);
    Object unused = open.invoke(null, List.of(root));
  }

  private static URL[] classPath() throws IOException {
    List<URL> urls = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      urls.add(Path.of(entry).toUri().toURL());
    }
    return urls.toArray(URL[]::new);
  }

  @Test
  void directories_ofAProcessThatWasKilled_goWithTheNext() throws Exception {
    assertThat(elsewhere(Action.HALT).status()).isZero();
    assertThat(entries()).hasSize(2);
    try (ProcessDirectories directories = new ProcessDirectories(roots())) {
      Path table = directories.table(RANGE);
      assertThat(table).isDirectory();
      assertThat(entries()).hasSize(2);
    }
  }

  @Test
  void storm_ofTwoProcesses_withSeveralThreadsEach_neverFails() throws Exception {
    Path said = dir.resolve("said");
    Process other = LocalDirectoriesProcess.start(command(Action.STORM), said);
    try {
      LocalDirectoriesProcess.storm(roots());
      assertThat(LocalDirectoriesProcess.end(other, said)).isEqualTo(new Ended(0, ""));
    } finally {
      other.destroyForcibly();
    }
    LocalDirectoriesProcess.openAndClose(roots());
    assertThat(entries()).isEmpty();
  }

  @Test
  void root_thatIsAFile_isRefusedInASentence() throws IOException {
    Files.createFile(root());
    try (ProcessDirectories directories = new ProcessDirectories(roots())) {
      assertThatThrownBy(directories::prepare)
          .isInstanceOfSatisfying(
              StateBackendException.class,
              e -> assertThat(e.kind()).isEqualTo(StateBackendException.Kind.INVALID))
          .hasMessageContainingAll(
              "the local directory '" + root() + "' cannot be used", "localdir");
    }
  }

  @Test
  void table_afterClose_throws() {
    ProcessDirectories directories = new ProcessDirectories(roots());
    directories.close();
    assertThatThrownBy(() -> directories.table(RANGE))
        .isInstanceOfSatisfying(
            StateBackendException.class,
            e -> assertThat(e.kind()).isEqualTo(StateBackendException.Kind.CLOSED));
    assertThat(root()).doesNotExist();
  }

  @Test
  void forgetRecovery_deletesWhatWasKeptForTheRange_andLeavesTheRest() throws IOException {
    try (ProcessDirectories directories = new ProcessDirectories(roots())) {
      Chain chain = new Chain("a/b", "file:///a");
      Path kept = Files.createDirectories(directories.recovery(chain, RANGE));
      Files.writeString(kept.resolve("file"), "x");
      Path other = Files.createDirectories(directories.recovery(chain, new KeyGroupRange(4, 8)));
      Path ofAnotherJob =
          Files.createDirectories(directories.recovery(new Chain("c", "file:///a"), RANGE));

      directories.forgetRecovery(chain, RANGE);
      assertThat(kept).doesNotExist();
      assertThat(other).isDirectory();
      directories.forgetRecovery(chain, new KeyGroupRange(0, 8));
      assertThat(other.getParent()).doesNotExist();
      directories.forgetRecovery(chain, RANGE);
      assertThat(ofAnotherJob).isDirectory();
    }
  }

  /** Two users of a machine, or two environments, call their jobs the same. */
  @Test
  void recovery_ofAJobOfTheSameNameElsewhere_isLeftAlone() throws IOException {
    try (ProcessDirectories directories = new ProcessDirectories(roots())) {
      Chain test = new Chain("counts", "s3://test/checkpoints");
      Chain production = new Chain("counts", "s3://production/checkpoints");
      Path kept = Files.createDirectories(directories.recovery(production, RANGE));

      directories.forgetRecovery(test, RANGE);
      assertThat(kept).isDirectory();
      assertThat(directories.recovery(test, new KeyGroupRange(0, 8))).isNotEqualTo(kept);
      assertThat(kept).isDirectory();
      assertThat(directories.recovery(production, RANGE)).isEqualTo(kept);
      Chain same = new Chain("counts", "s3://production/checkpoints/");
      assertThat(directories.recovery(same, RANGE)).isEqualTo(kept);
    }
  }

  /** An encoded character may take nine bytes of a name, which may have 255. */
  @Test
  void recovery_ofALongJobName_canBeMade() {
    try (ProcessDirectories directories = new ProcessDirectories(roots())) {
      for (String job : List.of("\u5e33".repeat(25), "\u5e33".repeat(255), "a".repeat(255))) {
        Chain chain = new Chain(job, "file:///a");
        Path kept = directories.recovery(chain, RANGE);
        assertThat(LocalDirectoriesProcess.chainOf(kept)).isDirectory();
        assertThat(kept).isEqualTo(directories.recovery(chain, RANGE));
        assertThat(kept)
            .isNotEqualTo(directories.recovery(new Chain(job + "\u5e33", "file:///a"), RANGE));
      }
    }
  }

  /** As with a date in the checkpoint directory: no run uses what an earlier one kept. */
  @Test
  void recovery_notUsedForDays_goesWithTheNextProcess() throws IOException {
    Path unused;
    Path recent;
    try (ProcessDirectories directories = new ProcessDirectories(roots())) {
      unused = Files.createDirectories(directories.recovery(new Chain("a", "file:///1"), RANGE));
      Files.writeString(unused.resolve("file"), "x");
      recent = Files.createDirectories(directories.recovery(new Chain("a", "file:///2"), RANGE));
    }
    Path foreign =
        Files.createDirectories(
            LocalDirectoriesProcess.chainOf(unused).resolveSibling("not of this kind"));
    LocalDirectoriesProcess.age(LocalDirectoriesProcess.chainOf(unused), Duration.ofDays(8));
    LocalDirectoriesProcess.age(LocalDirectoriesProcess.chainOf(recent), Duration.ofDays(6));
    LocalDirectoriesProcess.age(foreign, Duration.ofDays(8));

    LocalDirectoriesProcess.openAndClose(roots());
    assertThat(LocalDirectoriesProcess.chainOf(unused)).doesNotExist();
    assertThat(recent).isDirectory();
    assertThat(foreign).isDirectory();
    try (Stream<Path> left = Files.list(root().resolve("recovery"))) {
      assertThat(left).containsExactlyInAnyOrder(LocalDirectoriesProcess.chainOf(recent), foreign);
    }
  }

  @Test
  void recovery_ofALiveProcess_staysHoweverLongItRuns() throws Exception {
    Path kept;
    try (ProcessDirectories directories = new ProcessDirectories(roots())) {
      Path used = directories.recovery(LocalDirectoriesProcess.CHAIN, RANGE);
      kept = LocalDirectoriesProcess.chainOf(used);
      LocalDirectoriesProcess.age(kept, LocalDirectoriesProcess.LONG_AGO);
      assertThat(elsewhere(Action.CLOSE)).isEqualTo(new Ended(0, ""));
      assertThat(kept).isDirectory();
      LocalDirectoriesProcess.openAndClose(roots());
      assertThat(kept).isDirectory();
    }
    assertThat(elsewhere(Action.CLOSE)).isEqualTo(new Ended(0, ""));
    assertThat(kept).as("used until a moment ago").isDirectory();
  }

  @Test
  void recovery_ofAProcessThatWasKilled_isKeptForItsNextStart() throws Exception {
    assertThat(elsewhere(Action.RECOVER_AND_HALT)).isEqualTo(new Ended(0, ""));
    LocalDirectoriesProcess.openAndClose(roots());
    try (ProcessDirectories directories = new ProcessDirectories(roots())) {
      directories.prepare();
      try (Stream<Path> left = Files.list(root().resolve("recovery"))) {
        assertThat(left).hasSize(1);
      }
    }
  }

  private List<String> entries() throws IOException {
    try (Stream<Path> entries = Files.list(root())) {
      return entries.map(entry -> entry.getFileName().toString()).toList();
    }
  }

  private Ended elsewhere(Action action) throws Exception {
    Path said = dir.resolve("said");
    return LocalDirectoriesProcess.end(LocalDirectoriesProcess.start(command(action), said), said);
  }

  private List<String> command(Action action) {
    return LocalDirectoriesProcess.command(
        System.getProperty("java.class.path"), List.of(), action, root().toString());
  }
}
