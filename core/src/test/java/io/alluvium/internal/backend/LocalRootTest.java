package io.alluvium.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.internal.backend.LocalDirectoriesProcess.Action;
import io.alluvium.internal.backend.LocalDirectoriesProcess.Ended;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who may look into local directories, and whose are trusted. */
final class LocalRootTest {

  private static final String OTHER_USER = "65534";

  @TempDir Path dir;

  private LocalRoot byDefault(Path path) {
    return new LocalRoot(path, LocalRoot.Kind.DEFAULT);
  }

  @Test
  void ofUser_hasTheUserInItsName_andNoPathInTheUser() {
    Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
    assertThat(LocalRoot.ofUser("ann").path()).isEqualTo(temporary.resolve("alluvium-ann"));
    assertThat(LocalRoot.ofUser("../A\\b?").path())
        .isEqualTo(temporary.resolve("alluvium-.._A_b_"));
  }

  @Test
  void prepare_makesTheDefaultForItsOwnerAlone() throws IOException {
    Path path = dir.resolve("mine");
    byDefault(path).prepare();
    assertThat(rights(path)).isEqualTo("rwx------");
  }

  @Test
  void prepare_existingDefaultThatOthersMayRead_isClosedToThem() throws IOException {
    Path path = Files.createDirectory(dir.resolve("mine"));
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxrwxrwx"));
    byDefault(path).prepare();
    assertThat(rights(path)).isEqualTo("rwx------");
  }

  @Test
  void prepare_symbolicLinkInTheDefaultsPlace_isRefused() throws IOException {
    Path target = Files.createDirectory(dir.resolve("target"));
    Path path = Files.createSymbolicLink(dir.resolve("mine"), target);
    assertRefused(path, "is not a directory");
    Files.delete(target);
    assertRefused(path, "is not a directory");
  }

  @Test
  void prepare_directoryOfAnotherUserInTheDefaultsPlace_isRefused() throws IOException {
    Path path;
    if (isRoot()) {
      path = Files.createDirectory(dir.resolve("mine"));
      Files.setAttribute(path, "unix:uid", Integer.parseInt(OTHER_USER));
    } else {
      path = Path.of("/usr");
    }
    assertRefused(path, "belongs to the user '");
  }

  private void assertRefused(Path path, String why) {
    assertThatThrownBy(() -> byDefault(path).prepare())
        .isInstanceOfSatisfying(
            StateBackendException.class,
            e -> assertThat(e.kind()).isEqualTo(StateBackendException.Kind.INVALID))
        .hasMessageContainingAll(
            "the default local directory '" + path + "'", why, "state.backend.rocksdb.localdir");
  }

  @Test
  void directoriesBelowAConfiguredRoot_areForTheirOwnerAlone() throws IOException {
    Path root = Files.createDirectory(dir.resolve("shared"));
    Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwxrwxrwx"));
    try (ProcessDirectories directories =
        new ProcessDirectories(List.of(new LocalRoot(root, LocalRoot.Kind.CONFIGURED)))) {
      Path table = directories.table(new KeyGroupRange(0, 1));
      Path recovery =
          directories.recovery(
              new ProcessDirectories.Chain("job", "file:///a"), new KeyGroupRange(0, 1));
      assertThat(rights(root)).isEqualTo("rwxrwxrwx");
      assertThat(rights(root.resolve(root.relativize(table).getName(0)))).isEqualTo("rwx------");
      Path job = recovery.resolveSibling(".").normalize();
      assertThat(job.resolveSibling(".").normalize()).isEqualTo(root.resolve("recovery"));
      assertThat(recovery).hasFileName("0-1");
      assertThat(rights(root.resolve("recovery"))).isEqualTo("rwx------");
      assertThat(rights(job)).isEqualTo("rwx------");
    }
  }

  /** Two users with the default settings and one temporary directory. */
  @Test
  void twoUsersOfOneMachine_haveADefaultEach() throws Exception {
    if (!isRoot()) {
      skip("this needs root, to become another user");
    }
    Files.setPosixFilePermissions(dir, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path temporary = Files.createDirectory(dir.resolve("tmp"));
    Files.setAttribute(temporary, "unix:mode", 01777);
    String classPath = readableByOthers();

    assertThat(run(classPath, temporary, List.of(), List.of())).isEqualTo(new Ended(0, ""));
    Ended other = run(classPath, temporary, asOtherUser(), List.of("-Duser.name=other"));
    if (other.said().contains("setpriv:") || other.said().contains("No such file")) {
      skip("setpriv does not work here: " + other.said());
    }
    assertThat(other).isEqualTo(new Ended(0, ""));
    Path ofOther = temporary.resolve("alluvium-other");
    assertThat(rights(ofOther)).isEqualTo("rwx------");
    assertThat(Files.getAttribute(ofOther, "unix:uid")).isEqualTo(Integer.parseInt(OTHER_USER));

    // Whatever name it goes by: a directory of somebody else's is refused, in a sentence.
    Ended refused =
        run(
            classPath,
            temporary,
            asOtherUser(),
            List.of("-Duser.name=" + System.getProperty("user.name")));
    assertThat(refused.status()).isEqualTo(3);
    assertThat(refused.said())
        .startsWith("the default local directory '" + temporary.resolve("alluvium-"))
        .contains("belongs to the user");
  }

  private static List<String> asOtherUser() {
    return List.of(
        "setpriv", "--reuid=" + OTHER_USER, "--regid=" + OTHER_USER, "--clear-groups", "--");
  }

  private Ended run(String classPath, Path temporary, List<String> wrapper, List<String> options)
      throws Exception {
    List<String> command = new ArrayList<>(wrapper);
    List<String> all = new ArrayList<>(options);
    all.add("-Djava.io.tmpdir=" + temporary);
    command.addAll(LocalDirectoriesProcess.command(classPath, all, Action.CLOSE, ""));
    Path said = dir.resolve("said");
    return LocalDirectoriesProcess.end(LocalDirectoriesProcess.start(command, said), said);
  }

  /** A copy of this class path: the home of the user that runs the tests may be closed. */
  private String readableByOthers() throws IOException {
    List<String> copies = new ArrayList<>();
    Path all = Files.createDirectory(dir.resolve("classes"));
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      Path from = Path.of(entry);
      if (Files.isDirectory(from) || from.getFileName().toString().startsWith("slf4j")) {
        Path to = all.resolve(copies.size() + "-" + from.getFileName());
        copyTree(from, to);
        copies.add(to.toString());
      }
    }
    return String.join(File.pathSeparator, copies);
  }

  private static void copyTree(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.toList()) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
    }
  }

  private boolean isRoot() throws IOException {
    return Files.getAttribute(dir, "unix:uid").equals(0);
  }

  private static void skip(String why) {
    System.err.println("SKIPPED: local directories of two users; " + why);
    Assumptions.abort(why);
  }

  private static String rights(Path path) throws IOException {
    assumeThat(path.getFileSystem().supportedFileAttributeViews()).contains("posix");
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
  }
}
