package io.alluvium.testkit.owner;

import io.alluvium.spi.Incarnation;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A transactional sink that survives every process. Committed output stays; a transaction that was
 * rolled back can never be committed. Used only by the actor of a simulation whose turn it is.
 */
public final class Sink {

  private enum State {
    PREPARED,
    COMMITTED,
    ROLLED_BACK
  }

  private final Map<String, State> states = new TreeMap<>();
  private final Map<Long, Transaction> committed = new TreeMap<>();

  void prepare(Transaction transaction) {
    if (states.put(transaction.toString(), State.PREPARED) != null) {
      throw new AssertionError(transaction + " is prepared twice");
    }
  }

  /** Commits a transaction; idempotent. */
  void commit(Transaction transaction) {
    State state = states.get(transaction.toString());
    if (state != State.PREPARED && state != State.COMMITTED) {
      throw new AssertionError(transaction + " is committed although it is " + state);
    }
    states.put(transaction.toString(), State.COMMITTED);
    Transaction before = committed.put(transaction.offset(), transaction);
    if (before != null && !before.equals(transaction)) {
      throw new AssertionError("output twice: " + before + " and " + transaction);
    }
  }

  void rollBack(Transaction transaction) {
    states.computeIfPresent(
        transaction.toString(),
        (name, state) -> {
          if (state == State.COMMITTED) {
            throw new AssertionError(name + " is rolled back although it is committed");
          }
          return State.ROLLED_BACK;
        });
  }

  /** Prepared transactions of other writers. */
  List<Transaction> preparedByOthers(Incarnation self) {
    List<Transaction> prepared = new ArrayList<>();
    states.forEach(
        (name, state) -> {
          Transaction transaction = Transaction.parse(name);
          if (state == State.PREPARED && !transaction.writer().equals(self)) {
            prepared.add(transaction);
          }
        });
    return prepared;
  }

  /** Whether the output of an offset is committed. */
  public boolean isCommitted(long offset) {
    return committed.containsKey(offset);
  }

  boolean isRolledBack(Transaction transaction) {
    return states.get(transaction.toString()) == State.ROLLED_BACK;
  }
}
