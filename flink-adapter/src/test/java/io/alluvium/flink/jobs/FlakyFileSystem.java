package io.alluvium.flink.jobs;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.net.URI;
import java.util.Random;
import org.apache.flink.core.fs.FSDataOutputStream;
import org.apache.flink.core.fs.FSDataOutputStreamWrapper;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.FileSystemFactory;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;

/**
 * Local files under {@code flaky:}, which cannot always be written: making a file fails, or writing
 * it, or closing it, before or after taking effect. Thread-safe.
 */
public final class FlakyFileSystem extends LocalFileSystem {

  private static final URI ROOT = URI.create("flaky:///");
  private static final Object LOCK = new Object();

  @GuardedBy("LOCK")
  private static Random random = new Random(0);

  @GuardedBy("LOCK")
  private static int failuresPerHundred;

  @GuardedBy("LOCK")
  private static int failures;

  /** How long writing a file takes. */
  private static volatile long millisPerFile;

  /** Found by Flink. */
  public static final class Factory implements FileSystemFactory {
    @Override
    public String getScheme() {
      return "flaky";
    }

    @Override
    public FileSystem create(URI uri) {
      return new FlakyFileSystem();
    }
  }

  private enum Moment {
    NEVER,
    CREATE,
    WRITE,
    BEFORE_CLOSE,
    AFTER_CLOSE
  }

  /** From now on so many files of a hundred cannot be written. */
  static void fail(long seed, int perHundred) {
    synchronized (LOCK) {
      random = new Random(seed);
      failuresPerHundred = perHundred;
      failures = 0;
    }
  }

  /** From now on writing a file takes so long. */
  static void slow(long millis) {
    millisPerFile = millis;
  }

  /** Files that could not be written since. */
  static int failures() {
    synchronized (LOCK) {
      return failures;
    }
  }

  private static Moment next() {
    synchronized (LOCK) {
      if (random.nextInt(100) >= failuresPerHundred) {
        return Moment.NEVER;
      }
      failures++;
      return Moment.values()[1 + random.nextInt(Moment.values().length - 1)];
    }
  }

  @Override
  public URI getUri() {
    return ROOT;
  }

  @Override
  public FSDataOutputStream create(Path path, WriteMode mode) throws IOException {
    Moment moment = next();
    if (moment == Moment.CREATE) {
      throw new IOException("flaky: cannot make " + path);
    }
    return new FlakyStream(super.create(path, mode), moment, path);
  }

  private static final class FlakyStream extends FSDataOutputStreamWrapper {

    private final Moment moment;
    private final Path path;

    FlakyStream(FSDataOutputStream stream, Moment moment, Path path) {
      super(stream);
      this.moment = moment;
      this.path = path;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      if (moment == Moment.WRITE) {
        throw new IOException("flaky: cannot write " + path);
      }
      super.write(bytes, offset, length);
    }

    @Override
    public void close() throws IOException {
      try {
        Thread.sleep(millisPerFile);
      } catch (InterruptedException e) {
        throw new IOException("flaky: interrupted " + path, e);
      }
      if (moment == Moment.AFTER_CLOSE) {
        super.close();
      }
      if (moment == Moment.BEFORE_CLOSE || moment == Moment.AFTER_CLOSE) {
        throw new IOException("flaky: cannot close " + path);
      }
      super.close();
    }
  }
}
