package io.alluvium.flink;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.PhysicalStateHandleID;
import org.apache.flink.runtime.state.StreamStateHandle;

/**
 * A storage of files that are only counted, each of which meets the fate that was planned for it.
 * Thread-safe.
 */
final class Shelf {

  /** What becomes of one stream. */
  enum Fate {
    FINE,
    OPEN_FAILS,
    WRITE_FAILS,
    /** Closing fails, and the file goes. */
    CLOSE_FAILS,
    /** Writing ends only when another thread closes the stream. */
    HANGS,
    /** Closing waits for {@link #release}, whatever else happens, and is fine then. */
    STUCK
  }

  @GuardedBy("this")
  private final Deque<Fate> fates;

  @GuardedBy("this")
  private final Set<Integer> files = new TreeSet<>();

  @GuardedBy("this")
  private int opened;

  private final CountDownLatch released = new CountDownLatch(1);

  Shelf(List<Fate> fates) {
    this.fates = new ArrayDeque<>(fates);
  }

  /** Those that are there, by the order in which they were opened, from 1. */
  synchronized Set<Integer> files() {
    return Set.copyOf(files);
  }

  synchronized int opened() {
    return opened;
  }

  void release() {
    released.countDown();
  }

  synchronized CheckpointStateOutputStream open() throws IOException {
    Fate fate = fates.isEmpty() ? Fate.FINE : fates.remove();
    opened++;
    if (fate == Fate.OPEN_FAILS) {
      throw new IOException("shelf: cannot open " + opened);
    }
    files.add(opened);
    return new Stream(opened, fate);
  }

  private synchronized void remove(int file) {
    files.remove(file);
  }

  private final class Stream extends CheckpointStateOutputStream {

    private final int file;
    private final Fate fate;
    private final CountDownLatch closed = new CountDownLatch(1);
    private long length;

    Stream(int file, Fate fate) {
      this.file = file;
      this.fate = fate;
    }

    @Override
    public void write(int oneByte) throws IOException {
      length++;
      if (fate == Fate.WRITE_FAILS) {
        throw new IOException("shelf: cannot write " + file);
      }
      if (fate == Fate.HANGS) {
        await(closed);
        throw new IOException("shelf: closed " + file);
      }
    }

    private void await(CountDownLatch latch) throws IOException {
      try {
        latch.await();
      } catch (InterruptedException e) {
        throw new IOException("shelf: interrupted " + file, e);
      }
    }

    @Override
    public StreamStateHandle closeAndGetHandle() throws IOException {
      if (fate == Fate.STUCK) {
        await(released);
      }
      if (fate == Fate.CLOSE_FAILS || closed.getCount() == 0) {
        remove(file);
        throw new IOException("shelf: cannot close " + file);
      }
      return new Handle(Shelf.this, file, length);
    }

    @Override
    public void close() {
      if (fate != Fate.STUCK) {
        closed.countDown();
        remove(file);
      }
    }

    @Override
    public long getPos() {
      return length;
    }

    @Override
    public void flush() {}

    @Override
    public void sync() {}
  }

  /** The file, finished. */
  private static final class Handle implements StreamStateHandle {
    private static final long serialVersionUID = 1L;

    private final transient Shelf shelf;
    private final int file;
    private final long length;

    Handle(Shelf shelf, int file, long length) {
      this.shelf = shelf;
      this.file = file;
      this.length = length;
    }

    @Override
    public void discardState() {
      shelf.remove(file);
    }

    @Override
    public long getStateSize() {
      return length;
    }

    @Override
    public FSDataInputStream openInputStream() {
      throw new UnsupportedOperationException("only counted");
    }

    @Override
    public Optional<byte[]> asBytesIfInMemory() {
      return Optional.empty();
    }

    @Override
    public PhysicalStateHandleID getStreamStateHandleID() {
      return new PhysicalStateHandleID(String.valueOf(file));
    }
  }
}
