package io.alluvium.internal.catalog;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.Incarnation;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The blobs that this owner may delete one day: those whose names it handed out and those that the
 * manifests it found refer to. Knows which of them may still be needed, so that collecting garbage
 * needs no listing. Thread-safe; guarded by {@code lock}.
 */
final class BlobLedger implements BlobNames {

  /*
   * A name moves one way:
   *
   *   fresh  --a collection came upon it-->  known  --in no live set, pin or retained manifest any more-->  doomed  --deleted-->
   *
   * A fresh name is on its way from next() to the live set of whoever asked for it; the first collection that comes upon
   * it spares it. The second need not: who takes a name shows it in its live set at once (`BlobNames`). It is of no
   * matter whether the first one saw it there: what is stored and given up between two commits, as the log's segments are
   * when materializations are more frequent than checkpoints, shows up in no live set that is ever asked.
   *
   * Deciding that a name is garbage and pinning the names of a manifest that is about to be stored exclude each other by
   * the lock: a collection sees the pin, or the commit sees that the name is doomed and fails before it stores a
   * manifest that would dangle. Doomed is for ever, because the deletion may have happened although it failed.
   *
   * Doomed names that the store does not delete are forgotten beyond a bound; they are found again by a listing.
   *
   * Live sets are copied before the retained manifests are looked at (C4): a name that moves from a backend to a manifest
   * in between is seen in at least one of them.
   */

  private enum Mark {
    FRESH,
    /** No manifest ever named it, as far as this owner knows. */
    KNOWN,
    /** A manifest named it, or may have. */
    NAMED
  }

  private final Object lock = new Object();

  @GuardedBy("lock")
  private @Nullable Incarnation own;

  @GuardedBy("lock")
  private long counter;

  @GuardedBy("lock")
  private final Map<BlobName, Mark> known = new HashMap<>();

  @GuardedBy("lock")
  private final Map<BlobName, Mark> doomed = new HashMap<>();

  /** As they were given to {@link #pin}: nearly all of them are there for a moment only. */
  @GuardedBy("lock")
  private final List<Set<BlobName>> pinned = new ArrayList<>();

  @GuardedBy("lock")
  private final Map<Object, Supplier<Set<BlobName>>> liveSets = new LinkedHashMap<>();

  /** The owner is known: names may be handed out. */
  void start(Incarnation incarnation) {
    synchronized (lock) {
      own = incarnation;
    }
  }

  @Override
  public BlobName next(BlobName.Kind kind) {
    synchronized (lock) {
      BlobName name = new BlobName(owner(), counter++, kind);
      known.put(name, Mark.FRESH);
      return name;
    }
  }

  @Override
  public Incarnation incarnation() {
    synchronized (lock) {
      return owner();
    }
  }

  @GuardedBy("lock")
  private Incarnation owner() {
    if (own == null) {
      throw StateBackendException.invalid(
          "no job is owned yet; call takeOver on the catalog before a backend stores anything");
    }
    return own;
  }

  /** Asks {@code live} at every collection which blobs are still needed, until closed. */
  LiveRegistration register(Supplier<Set<BlobName>> live) {
    Object key = new Object();
    synchronized (lock) {
      liveSets.put(key, live);
    }
    return () -> {
      synchronized (lock) {
        liveSets.remove(key);
      }
    };
  }

  /** Blobs that this owner found and may delete: they are garbage once nothing needs them. */
  void inherit(Collection<BlobName> names) {
    synchronized (lock) {
      names.forEach(name -> known.putIfAbsent(name, Mark.NAMED));
    }
  }

  /**
   * A manifest with these names is about to be stored: keeps them until {@link #unpin}.
   *
   * @param names do not change until then
   * @throws StateBackendException {@code INTERNAL} when one was given up already; nothing is pinned
   *     then
   */
  void pin(Set<BlobName> names) {
    synchronized (lock) {
      for (BlobName name : names) {
        boolean ours = name.incarnation().equals(own);
        Mark mark = known.get(name);
        if (doomed.containsKey(name) || (ours && mark == null)) {
          throw StateBackendException.internal(
              "a checkpoint refers to blob '"
                  + name
                  + "', which "
                  + (doomed.containsKey(name) || name.counter() < counter
                      ? "was collected as garbage"
                      : "was never handed out")
                  + "; its live set must keep it until the checkpoint is subsumed");
        }
        if (mark != null && mark != Mark.NAMED) {
          known.put(name, Mark.NAMED);
        }
      }
      pinned.add(names);
    }
  }

  void unpin(Set<BlobName> names) {
    synchronized (lock) {
      // The very one: to compare two takes as long as the sets are large.
      pinned.removeIf(each -> each == names);
    }
  }

  /**
   * Decides what is garbage now.
   *
   * @param fresh {@link Fresh#COLLECTED} takes fresh names too if there is no live set left
   * @param reachable blobs of each retained manifest; asked after the live sets, at last under the
   *     lock
   * @return every name that may be deleted, those included that earlier calls returned and that are
   *     not {@linkplain #forget forgotten} yet
   */
  Set<BlobName> plan(Fresh fresh, Supplier<List<Set<BlobName>>> reachable) {
    List<Supplier<Set<BlobName>>> suppliers;
    List<BlobName> garbage = new ArrayList<>();
    List<BlobName> spared = new ArrayList<>();
    synchronized (lock) {
      suppliers = List.copyOf(liveSets.values());
      boolean spareFresh = fresh == Fresh.SPARED || !suppliers.isEmpty();
      for (Map.Entry<BlobName, Mark> entry : known.entrySet()) {
        boolean spare = spareFresh && entry.getValue() == Mark.FRESH;
        (spare ? spared : garbage).add(entry.getKey());
      }
    }
    Set<BlobName> live = new HashSet<>();
    suppliers.forEach(each -> live.addAll(each.get()));
    garbage.removeIf(live::contains);
    // Once without the lock, for which an upload that wants a name waits, then what is left with
    // it.
    removeAll(garbage, reachable.get());
    synchronized (lock) {
      removeAll(garbage, pinned);
      removeAll(garbage, reachable.get());
      spared.forEach(name -> known.replace(name, Mark.FRESH, Mark.KNOWN));
      for (BlobName name : garbage) {
        doomed.put(name, known.remove(name) == Mark.NAMED ? Mark.NAMED : Mark.KNOWN);
      }
      return Set.copyOf(doomed.keySet());
    }
  }

  /** How many names it holds. */
  int size() {
    synchronized (lock) {
      return known.size() + doomed.size() + pinned.stream().mapToInt(Set::size).sum();
    }
  }

  /** Whether a manifest that is not deleted may refer to garbage. */
  boolean mayBeNamed(BlobName name) {
    synchronized (lock) {
      return doomed.get(name) != Mark.KNOWN;
    }
  }

  /** Forgets garbage beyond so many names; returns whether there was any. */
  boolean forgetBeyond(int most) {
    synchronized (lock) {
      int left = doomed.size() - most;
      Iterator<BlobName> names = doomed.keySet().iterator();
      for (int i = 0; i < left; i++) {
        Object unused = names.next();
        names.remove();
      }
      return left > 0;
    }
  }

  private static void removeAll(List<BlobName> from, List<Set<BlobName>> needed) {
    from.removeIf(name -> needed.stream().anyMatch(names -> names.contains(name)));
  }

  /** What a plan does with names that were handed out since the last one. */
  enum Fresh {
    SPARED,
    COLLECTED
  }

  /** These are deleted. */
  void forget(Collection<BlobName> names) {
    synchronized (lock) {
      names.forEach(doomed::remove);
    }
  }
}
