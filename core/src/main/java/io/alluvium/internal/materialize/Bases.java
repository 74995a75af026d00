package io.alluvium.internal.materialize;

import io.alluvium.CheckpointHandle.Part;
import io.alluvium.KeyGroupRange;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.TableFile;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the checkpoints of one backend stand on: the restored parents first, the newest own
 * materialization later. Thread-safe; guarded by {@code this}, never held across I/O.
 */
public final class Bases {

  /**
   * What a checkpoint stands on below its changelog tail. Immutable.
   *
   * @param position the tail is replayed from this sequence number
   */
  public record Base(long position, List<Part> parts) {
    public Base {
      parts = List.copyOf(parts);
    }
  }

  /**
   * One run of the materializer, from its snapshot to its durable files. Guarded by the {@link
   * Bases} it belongs to.
   */
  public static final class Attempt {
    private final long position;
    private long containedUpTo = UNKNOWN;
    private boolean returned;
    private @Nullable List<TableFile> files;

    private Attempt(long position) {
      this.position = position;
    }

    /** Every change below this is in the files. */
    public long position() {
      return position;
    }
  }

  private static final long UNKNOWN = -1;

  /*
   * A snapshot runs beside the task thread, so that its files hold an unknown part of what was written while it ran. What is
   * certain is an upper bound taken later: the end of the first checkpoint that began after the snapshot had returned (P2).
   * Hence three steps that may come in the order 1 2 3 or 1 3 2:
   *   1. `returned`: the files are complete;
   *   2. `bind` on the task thread notes `containedUpTo`;
   *   3. `durable`: the files are stored.
   * Only an attempt that made all three is a base. It is bound to a checkpoint at the trigger, never later, so that what
   * a pending checkpoint needs is known from its first moment on (P5).
   */
  private final String format;
  private final KeyGroupRange keyGroups;
  private final Deque<Attempt> attempts = new ArrayDeque<>();
  private Optional<Base> newest;

  /**
   * @param restored what the restored handles name; empty when nothing may be named (a detached
   *     restore)
   */
  public Bases(String format, KeyGroupRange keyGroups, Optional<Base> restored) {
    this.format = format;
    this.keyGroups = keyGroups;
    this.newest = restored;
  }

  /** Step 0, by the materializer: {@code position} was read before the snapshot began. */
  public synchronized Attempt begin(long position) {
    Attempt attempt = new Attempt(position);
    attempts.addLast(attempt);
    return attempt;
  }

  /** Step 1: the snapshot has returned. */
  public synchronized void returned(Attempt attempt) {
    attempt.returned = true;
  }

  /** Step 3: its files are stored. */
  public synchronized void durable(Attempt attempt, List<TableFile> files) {
    attempt.files = List.copyOf(files);
    promote();
    // The next checkpoint, whenever it comes, stands on the newest.
    if (attempts.contains(attempt)) {
      attempts.removeIf(each -> each.files != null && each.position < attempt.position);
    }
  }

  /** Every change below this is in files that are durable; 0 when nothing is. */
  public synchronized long durableUpTo() {
    long upTo = newest.map(Base::position).orElse(0L);
    for (Attempt attempt : attempts) {
      if (attempt.files != null) {
        upTo = Math.max(upTo, attempt.position);
      }
    }
    return upTo;
  }

  /** The attempt came to nothing. */
  public synchronized void failed(Attempt attempt) {
    // What is durable stays: the changelog below it may be gone.
    if (attempt.files == null) {
      attempts.remove(attempt);
    }
  }

  /**
   * Step 2, on the task thread, at the trigger of a checkpoint that ends at {@code end}: what it
   * stands on. Empty when there is nothing it may name.
   */
  public synchronized Optional<Base> bind(long end) {
    for (Attempt attempt : attempts) {
      if (attempt.returned && attempt.containedUpTo == UNKNOWN) {
        attempt.containedUpTo = end;
      }
    }
    promote();
    return newest;
  }

  /**
   * The newest attempt that made all steps becomes the base; older ones can no longer be named by
   * anybody new.
   */
  private void promote() {
    // A snapshot that the task thread made meanwhile may have overtaken attempts; their changelog
    // is
    // gone.
    newest.ifPresent(base -> attempts.removeIf(attempt -> attempt.position < base.position()));
    Attempt best = null;
    for (Attempt attempt : attempts) {
      if (attempt.files != null && attempt.containedUpTo != UNKNOWN) {
        best = attempt;
      }
    }
    if (best == null || best.files == null) {
      return;
    }
    while (attempts.peekFirst() != best) {
      attempts.removeFirst();
    }
    attempts.removeFirst();
    newest = Optional.of(baseOf(best.position, best.containedUpTo, best.files));
  }

  private Base baseOf(long position, long containedUpTo, List<TableFile> files) {
    Materialization materialization = new Materialization(format, position, containedUpTo, files);
    return new Base(
        position, List.of(new Part(keyGroups, Optional.of(materialization), List.of())));
  }

  /**
   * A snapshot that the task thread itself made between two changes: its files hold exactly what
   * lies below {@code position}.
   */
  public synchronized Base exact(long position, List<TableFile> files) {
    Base base = copied(position, files);
    // Snapshots taken before it, or beside it, may name blobs that this one was made to do without.
    attempts.removeIf(attempt -> attempt.position <= position);
    if (newest.isEmpty() || newest.get().position() <= position) {
      newest = Optional.of(base);
    }
    return base;
  }

  /** As {@link #exact}, for files that no checkpoint of this backend will stand on. */
  public Base copied(long position, List<TableFile> files) {
    return baseOf(position, position, files);
  }

  /**
   * Where the changelog is needed from by checkpoints still to come; {@code none} when there is no
   * base at all.
   */
  public synchronized long newestPosition(long none) {
    long position = newest.map(Base::position).orElse(none);
    for (Attempt attempt : attempts) {
      if (attempt.files != null) {
        position = Math.max(position, attempt.position);
      }
    }
    return position;
  }

  /** Blobs that a later checkpoint may name. */
  public Set<BlobName> liveBlobs() {
    Optional<Base> base;
    List<TableFile> files = new ArrayList<>();
    synchronized (this) {
      base = newest;
      for (Attempt attempt : attempts) {
        if (attempt.files != null) {
          files.addAll(attempt.files);
        }
      }
    }
    // There may be thousands of names, and the task waits for the lock in its sync part.
    Set<BlobName> live = new HashSet<>();
    base.ifPresent(each -> addBlobs(each, live));
    files.forEach(file -> live.add(file.blob()));
    return live;
  }

  /** Names of all blobs of a base. */
  public static void addBlobs(Base base, Set<BlobName> into) {
    List<TableFile> files = new ArrayList<>();
    for (Part part : base.parts()) {
      part.materialization().ifPresent(materialization -> files.addAll(materialization.files()));
      part.blocks().forEach(block -> into.add(block.blob()));
    }
    files.forEach(file -> into.add(file.blob()));
  }
}
