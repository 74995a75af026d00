package io.alluvium.testkit.owner;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Incarnation;
import io.alluvium.testkit.sim.Choices;
import io.alluvium.testkit.sim.SimulatedProcess;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A whole job in one process. It takes over, restores and cleans up after earlier owners. Then it
 * reads its input, with a checkpoint after each piece and a transactional sink. It stops at the end
 * of the input, if it is fenced, or after a commit of unknown outcome. Runs in an actor of its
 * process.
 */
public final class Owner implements Runnable {

  private static final String JOB = "job";

  private final SimulatedProcess process;
  private final OwnedState state;
  private final Sink sink;
  private final ManifestLogChecker manifestLog;
  private final Choices choices;
  private final long limit;
  private final List<Transaction> pending = new ArrayList<>();

  /**
   * @param limit length of the input
   */
  public Owner(
      SimulatedProcess process,
      OwnedState state,
      Sink sink,
      ManifestLogChecker manifestLog,
      Choices choices,
      long limit) {
    this.process = process;
    this.state = state;
    this.sink = sink;
    this.manifestLog = manifestLog;
    this.choices = choices;
    this.limit = limit;
  }

  @Override
  public void run() {
    try {
      Optional<Checkpoint> checkpoint = state.catalog().takeOver(JOB);
      Progress progress =
          checkpoint.map(each -> Progress.parse(each.metadata())).orElse(Progress.NONE);
      Incarnation self = state.catalog().incarnation();
      try {
        state.restore(checkpoint);
      } catch (StateBackendException e) {
        // The checkpoint may be collected only if another owner has taken over meanwhile.
        if (e.kind() == Kind.CORRUPT && manifestLog.isOwner(self)) {
          throw new AssertionError("the owner cannot restore: " + e, e);
        }
        throw e;
      }
      if (state.applied() != progress.offset()) {
        throw new AssertionError(
            "restored " + state.applied() + " pieces of the input, not " + progress.offset());
      }
      cleanUp(progress, self);
      work(checkpoint.map(Checkpoint::id).orElse(0L), progress.offset(), self);
    } catch (StateBackendException e) {
      if (e.kind() != Kind.FENCED && e.kind() != Kind.UNAVAILABLE && e.kind() != Kind.CORRUPT) {
        throw e;
      }
      // Stops without further changes (C3a).
    }
  }

  /** Commits the transactions of the checkpoint and rolls back all others of older writers (C6). */
  private void cleanUp(Progress progress, Incarnation self) {
    for (Transaction transaction : progress.transactions()) {
      process.point("commit " + transaction);
      sink.commit(transaction);
    }
    for (Transaction transaction : sink.preparedByOthers(self)) {
      if (!progress.transactions().contains(transaction)
          && state.catalog().isOlder(transaction.writer())) {
        process.point("roll back " + transaction);
        sink.rollBack(transaction);
      }
    }
  }

  private void work(long lastId, long from, Incarnation self) {
    long id = lastId;
    for (long offset = from + 1; offset <= limit; offset++) {
      id++;
      state.apply(offset);
      Transaction transaction = new Transaction(self, offset);
      process.point("prepare " + transaction);
      sink.prepare(transaction);
      pending.add(transaction);
      checkpoint(id, offset);
    }
    while (!pending.isEmpty()) {
      checkpoint(++id, limit);
    }
    state.close();
    state.catalog().collectGarbage();
  }

  private void checkpoint(long id, long offset) {
    List<CheckpointHandle> handles;
    try {
      handles = state.checkpoint(id);
    } catch (StateBackendException e) {
      if (e.kind() != Kind.UNAVAILABLE) {
        throw e;
      }
      state.abort(id);
      return;
    }
    commit(id, offset, handles);
    state.confirm(id);
    for (Transaction transaction : pending) {
      process.point("commit " + transaction);
      sink.commit(transaction);
    }
    pending.clear();
  }

  private void commit(long id, long offset, List<CheckpointHandle> handles) {
    List<String> blobs = new ArrayList<>();
    handles.forEach(handle -> handle.blobs().stream().map(BlobName::toString).forEach(blobs::add));
    byte[] metadata = new Progress(offset, pending, blobs).bytes();
    for (int attempt = 0; ; attempt++) {
      try {
        CheckpointCatalog.Commit unused = state.catalog().commit(id, handles, metadata);
        return;
      } catch (StateBackendException e) {
        // Unknown outcome: retry the same commit, or stop.
        if (e.kind() != Kind.UNAVAILABLE || attempt == 2 || choices.choose(2) == 1) {
          throw e;
        }
      }
    }
  }
}
