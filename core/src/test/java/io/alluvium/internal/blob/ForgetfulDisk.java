package io.alluvium.internal.blob;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A disk in memory that loses its power at a chosen operation. Of the changes that were not forced,
 * an arbitrary part survives. {@link ForgetfulFiles} is its file system. Confined to one thread.
 */
final class ForgetfulDisk {

  /*
   * The weakest disk that POSIX allows. A file keeps its forced content or, if it was written later, any prefix of its
   * newest content. Each name of a directory is independent: it keeps one of the files that it had since the directory
   * was last forced. Either half of a rename may therefore survive alone, and of two renames only the second one. A file
   * or directory without a surviving name is lost with its content.
   */

  /**
   * The power is lost: later calls fail as well. An error, so that the store does not handle it.
   */
  static final class PowerLoss extends Error {
    private static final long serialVersionUID = 1L;
  }

  /** A file or a directory. */
  abstract static class Node {}

  static final class FileNode extends Node {
    private byte[] content = new byte[0];
    private byte @Nullable [] forced;

    byte[] content() {
      return content;
    }
  }

  static final class DirectoryNode extends Node {
    private final Map<String, Node> entries = new LinkedHashMap<>();

    /** For each name changed since the last force: its nodes since then, the forced one first. */
    private final Map<String, List<@Nullable Node>> meanings = new LinkedHashMap<>();

    List<String> names() {
      return new ArrayList<>(entries.keySet());
    }

    private void set(String name, @Nullable Node node) {
      List<@Nullable Node> known = meanings.computeIfAbsent(name, unused -> new ArrayList<>());
      if (known.isEmpty()) {
        known.add(entries.get(name));
      }
      known.add(node);
      if (node == null) {
        entries.remove(name);
      } else {
        entries.put(name, node);
      }
    }
  }

  private final DirectoryNode root;
  private long operations;
  private long lossAt = Long.MAX_VALUE;

  ForgetfulDisk() {
    this(new DirectoryNode());
  }

  private ForgetfulDisk(DirectoryNode root) {
    this.root = root;
  }

  /** Loses the power instead of the change or force with this number, counted from 0. */
  void losePowerAt(long operation) {
    lossAt = operation;
  }

  /** Changes and forces so far. */
  long operations() {
    return operations;
  }

  /** A possible content of the disk after the power is back. */
  ForgetfulDisk afterPowerLoss(Random random) {
    return new ForgetfulDisk(survivor(root, random, new HashMap<>()));
  }

  /** The content for the next process after a kill: all changes, none of them forced. */
  ForgetfulDisk afterKill() {
    return new ForgetfulDisk(root);
  }

  private static DirectoryNode survivor(
      DirectoryNode directory, Random random, Map<FileNode, FileNode> files) {
    Map<String, Node> found = new LinkedHashMap<>(directory.entries);
    directory.meanings.forEach(
        (name, meanings) -> {
          Node chosen = meanings.get(random.nextInt(meanings.size()));
          found.remove(name);
          if (chosen != null) {
            found.put(name, chosen);
          }
        });
    DirectoryNode survivor = new DirectoryNode();
    found.forEach(
        (name, node) ->
            survivor.entries.put(
                name,
                node instanceof DirectoryNode below
                    ? survivor(below, random, files)
                    : files.computeIfAbsent((FileNode) node, file -> survivor(file, random))));
    return survivor;
  }

  private static FileNode survivor(FileNode file, Random random) {
    FileNode survivor = new FileNode();
    byte[] forced = file.forced;
    if (forced != null && (Arrays.equals(forced, file.content) || random.nextBoolean())) {
      survivor.content = forced;
    } else {
      int length = file.content.length;
      survivor.content = Arrays.copyOf(file.content, random.nextInt(length + 1));
    }
    survivor.forced = survivor.content;
    return survivor;
  }

  private void beforeChange() {
    if (operations++ >= lossAt) {
      throw new PowerLoss();
    }
  }

  @Nullable Node find(Path path) throws IOException {
    if (operations > lossAt) {
      throw new PowerLoss();
    }
    Node at = root;
    for (Path name : path) {
      if (at == null) {
        return null;
      }
      if (!(at instanceof DirectoryNode directory)) {
        throw new NotDirectoryException(path.toString());
      }
      at = directory.entries.get(name.toString());
    }
    return at;
  }

  Node existing(Path path) throws IOException {
    Node node = find(path);
    if (node == null) {
      throw new NoSuchFileException(path.toString());
    }
    return node;
  }

  DirectoryNode directory(Path path) throws IOException {
    if (existing(path) instanceof DirectoryNode directory) {
      return directory;
    }
    throw new NotDirectoryException(path.toString());
  }

  private DirectoryNode parent(Path path) throws IOException {
    Path parent = path.getParent();
    return parent == null ? root : directory(parent);
  }

  private static String name(Path path) {
    return String.valueOf(path.getFileName());
  }

  FileNode createFile(Path path) throws IOException {
    FileNode file = new FileNode();
    add(path, file);
    return file;
  }

  void createDirectory(Path path) throws IOException {
    add(path, new DirectoryNode());
  }

  void link(Path link, Path existing) throws IOException {
    add(link, existing(existing));
  }

  private void add(Path path, Node node) throws IOException {
    DirectoryNode parent = parent(path);
    if (parent.entries.containsKey(name(path))) {
      throw new FileAlreadyExistsException(path.toString());
    }
    beforeChange();
    parent.set(name(path), node);
  }

  /** Replaces a file of that name. */
  void rename(Path from, Path to) throws IOException {
    Node node = existing(from);
    DirectoryNode target = parent(to);
    if (target.entries.get(name(to)) instanceof DirectoryNode) {
      throw new AtomicMoveNotSupportedException(from.toString(), to.toString(), "a directory");
    }
    beforeChange();
    parent(from).set(name(from), null);
    target.set(name(to), node);
  }

  void delete(Path path) throws IOException {
    if (existing(path) instanceof DirectoryNode directory && !directory.entries.isEmpty()) {
      throw new DirectoryNotEmptyException(path.toString());
    }
    beforeChange();
    parent(path).set(name(path), null);
  }

  void append(FileNode file, ByteBuffer bytes) {
    beforeChange();
    int length = file.content.length;
    int count = bytes.remaining();
    byte[] longer = Arrays.copyOf(file.content, length + count);
    bytes.get(longer, length, count);
    file.content = longer;
  }

  void force(Node node) {
    beforeChange();
    if (node instanceof FileNode file) {
      file.forced = file.content;
    } else {
      ((DirectoryNode) node).meanings.clear();
    }
  }
}
