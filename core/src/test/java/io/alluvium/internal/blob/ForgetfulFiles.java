package io.alluvium.internal.blob;

import io.alluvium.internal.blob.ForgetfulDisk.DirectoryNode;
import io.alluvium.internal.blob.ForgetfulDisk.FileNode;
import io.alluvium.internal.blob.ForgetfulDisk.Node;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.AccessMode;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.StandardOpenOption;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.nio.file.spi.FileSystemProvider;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The file system of a {@link ForgetfulDisk}. Supports the operations that a blob store uses;
 * others throw. Confined to one thread.
 */
final class ForgetfulFiles extends FileSystemProvider {

  private final ForgetfulDisk disk;
  private final FileSystem fileSystem = new Files();

  private ForgetfulFiles(ForgetfulDisk disk) {
    this.disk = disk;
  }

  /** The root directory of a disk. */
  static Path root(ForgetfulDisk disk) {
    return new ForgetfulFiles(disk).fileSystem.getPath("/");
  }

  private static UnsupportedOperationException unused() {
    return new UnsupportedOperationException("no blob store uses this");
  }

  @Override
  public FileChannel newFileChannel(
      Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes)
      throws IOException {
    Node node =
        options.contains(StandardOpenOption.CREATE_NEW)
            ? disk.createFile(path)
            : disk.existing(path);
    return new Channel(node);
  }

  @Override
  public DirectoryStream<Path> newDirectoryStream(
      Path directory, DirectoryStream.Filter<? super Path> filter) throws IOException {
    DirectoryNode node = disk.directory(directory);
    return new DirectoryStream<>() {
      @Override
      public Iterator<Path> iterator() {
        return node.names().stream().map(directory::resolve).iterator();
      }

      @Override
      public void close() {}
    };
  }

  @Override
  public void createDirectory(Path directory, FileAttribute<?>... attributes) throws IOException {
    disk.createDirectory(directory);
  }

  @Override
  public void createLink(Path link, Path existing) throws IOException {
    disk.link(link, existing);
  }

  @Override
  public void delete(Path path) throws IOException {
    disk.delete(path);
  }

  @Override
  public void move(Path source, Path target, CopyOption... options) throws IOException {
    disk.rename(source, target);
  }

  @Override
  public void checkAccess(Path path, AccessMode... modes) throws IOException {
    Node unused = disk.existing(path);
  }

  @Override
  public <A extends BasicFileAttributes> A readAttributes(
      Path path, Class<A> type, LinkOption... options) throws IOException {
    return type.cast(new Attributes(disk.existing(path)));
  }

  @Override
  public String getScheme() {
    return "forgetful";
  }

  @Override
  public FileSystem newFileSystem(URI uri, Map<String, ?> env) {
    throw unused();
  }

  @Override
  public FileSystem getFileSystem(URI uri) {
    throw unused();
  }

  @Override
  public Path getPath(URI uri) {
    throw unused();
  }

  @Override
  public SeekableByteChannel newByteChannel(
      Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes) {
    throw unused();
  }

  @Override
  public void copy(Path source, Path target, CopyOption... options) {
    throw unused();
  }

  @Override
  public boolean isSameFile(Path path, Path other) {
    throw unused();
  }

  @Override
  public boolean isHidden(Path path) {
    throw unused();
  }

  @Override
  public FileStore getFileStore(Path path) {
    throw unused();
  }

  @Override
  public <V extends FileAttributeView> V getFileAttributeView(
      Path path, Class<V> type, LinkOption... options) {
    throw unused();
  }

  @Override
  public Map<String, Object> readAttributes(Path path, String names, LinkOption... options) {
    throw unused();
  }

  @Override
  public void setAttribute(Path path, String name, Object value, LinkOption... options) {
    throw unused();
  }

  private record Attributes(Node node) implements BasicFileAttributes {

    @Override
    public FileTime lastModifiedTime() {
      return FileTime.fromMillis(0);
    }

    @Override
    public FileTime lastAccessTime() {
      return FileTime.fromMillis(0);
    }

    @Override
    public FileTime creationTime() {
      return FileTime.fromMillis(0);
    }

    @Override
    public boolean isRegularFile() {
      return node instanceof FileNode;
    }

    @Override
    public boolean isDirectory() {
      return node instanceof DirectoryNode;
    }

    @Override
    public boolean isSymbolicLink() {
      return false;
    }

    @Override
    public boolean isOther() {
      return false;
    }

    @Override
    public long size() {
      return node instanceof FileNode file ? file.content().length : 0;
    }

    @Override
    public Object fileKey() {
      return node;
    }
  }

  /** Appends to a file and reads it, or forces a directory. */
  private final class Channel extends FileChannel {
    private final Node node;

    Channel(Node node) {
      this.node = node;
    }

    @Override
    public int write(ByteBuffer source) {
      int count = source.remaining();
      disk.append((FileNode) node, source);
      return count;
    }

    @Override
    public int read(ByteBuffer target, long position) {
      byte[] content = ((FileNode) node).content();
      int count = (int) Math.min(target.remaining(), content.length - position);
      if (count <= 0) {
        return -1;
      }
      target.put(content, (int) position, count);
      return count;
    }

    @Override
    public void force(boolean metaData) {
      disk.force(node);
    }

    @Override
    public long size() {
      return ((FileNode) node).content().length;
    }

    @Override
    protected void implCloseChannel() {}

    @Override
    public int read(ByteBuffer target) {
      throw unused();
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) {
      throw unused();
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
      throw unused();
    }

    @Override
    public long position() {
      throw unused();
    }

    @Override
    public FileChannel position(long newPosition) {
      throw unused();
    }

    @Override
    public FileChannel truncate(long size) {
      throw unused();
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target) {
      throw unused();
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long position, long count) {
      throw unused();
    }

    @Override
    public int write(ByteBuffer source, long position) {
      throw unused();
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) {
      throw unused();
    }

    @Override
    public FileLock lock(long position, long size, boolean shared) {
      throw unused();
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) {
      throw unused();
    }
  }

  private final class Files extends FileSystem {

    @Override
    public FileSystemProvider provider() {
      return ForgetfulFiles.this;
    }

    @Override
    public Path getPath(String first, String... more) {
      return new Name(Path.of(first, more));
    }

    @Override
    public void close() {}

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public boolean isReadOnly() {
      return false;
    }

    @Override
    public String getSeparator() {
      return "/";
    }

    @Override
    public Iterable<Path> getRootDirectories() {
      throw unused();
    }

    @Override
    public Iterable<FileStore> getFileStores() {
      throw unused();
    }

    @Override
    public Set<String> supportedFileAttributeViews() {
      return Set.of("basic");
    }

    @Override
    public PathMatcher getPathMatcher(String syntaxAndPattern) {
      throw unused();
    }

    @Override
    public UserPrincipalLookupService getUserPrincipalLookupService() {
      throw unused();
    }

    @Override
    public WatchService newWatchService() {
      throw unused();
    }
  }

  /** A path of this file system; delegates path arithmetic to a path of the default one. */
  private final class Name implements Path {
    private final Path path;

    Name(Path path) {
      this.path = path;
    }

    private @Nullable Path name(@Nullable Path of) {
      return of == null ? null : new Name(of);
    }

    private Path own(Path other) {
      return ((Name) other).path;
    }

    @Override
    public FileSystem getFileSystem() {
      return fileSystem;
    }

    @Override
    public boolean isAbsolute() {
      return path.isAbsolute();
    }

    @Override
    public @Nullable Path getRoot() {
      return name(path.getRoot());
    }

    @Override
    public @Nullable Path getFileName() {
      return name(path.getFileName());
    }

    @Override
    public @Nullable Path getParent() {
      return name(path.getParent());
    }

    @Override
    public int getNameCount() {
      return path.getNameCount();
    }

    @Override
    public Path getName(int index) {
      return new Name(path.getName(index));
    }

    @Override
    public Path subpath(int from, int to) {
      return new Name(path.subpath(from, to));
    }

    @Override
    public boolean startsWith(Path other) {
      return path.startsWith(own(other));
    }

    @Override
    public boolean endsWith(Path other) {
      return path.endsWith(own(other));
    }

    @Override
    public Path normalize() {
      return new Name(path.normalize());
    }

    @Override
    public Path resolve(Path other) {
      return new Name(path.resolve(own(other)));
    }

    @Override
    public Path relativize(Path other) {
      return new Name(path.relativize(own(other)));
    }

    @Override
    public URI toUri() {
      throw unused();
    }

    @Override
    public Path toAbsolutePath() {
      return this;
    }

    @Override
    public Path toRealPath(LinkOption... options) {
      return this;
    }

    @Override
    public WatchKey register(
        WatchService watcher, WatchEvent.Kind<?>[] events, WatchEvent.Modifier... modifiers) {
      throw unused();
    }

    @Override
    public int compareTo(Path other) {
      return path.compareTo(own(other));
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Name name && name.path.equals(path);
    }

    @Override
    public int hashCode() {
      return path.hashCode();
    }

    @Override
    public String toString() {
      return path.toString();
    }
  }
}
