package io.alluvium.dstl;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;

/**
 * Decides which sealed blocks of the process go out together, and when (L2, L3). Pure bookkeeping:
 * no time, no threads; guarded by the lock of the {@link Uploader}.
 */
final class GroupCommit {

  /*
   * All sealed blocks of the process stand in one queue, in the order of sealing. Deciding that they go out means moving
   * `mark` to the end of the queue: what lies at or below it leaves as soon as all of it is encoded. The mark moves
   *   - when every open changelog has asked since the last round: everybody's blocks are in the queue, nobody is
   *     missing, waiting longer gains nothing;
   *   - when the delay has passed since the first changelog asked that has blocks above the mark;
   *   - when the bytes above the mark reach a threshold;
   *   - when a task waits for room.
   * A changelog without new changes counts as asked; it neither starts the delay nor causes a request (L9).
   */
  private final DstlSettings settings;
  private final Set<BlockLedger> open = new HashSet<>();
  private final Set<BlockLedger> asked = new HashSet<>();
  private final ArrayDeque<Block> queue = new ArrayDeque<>();
  private long lastTicket;
  private long mark;
  private long bytesAboveMark;
  private boolean awaited;
  private boolean timed;
  private long round;

  GroupCommit(DstlSettings settings) {
    this.settings = settings;
  }

  void opened(BlockLedger changelog) {
    open.add(changelog);
  }

  /** A changelog that is closed keeps nobody waiting; its queued blocks were removed before. */
  void closed(BlockLedger changelog) {
    open.remove(changelog);
    asked.remove(changelog);
    endRoundIfAllAsked();
  }

  void add(Block block) {
    lastTicket++;
    block.ticket = lastTicket;
    queue.addLast(block);
    bytesAboveMark += block.rawLength;
    checkThresholds();
  }

  /** Takes a block out that will not be stored, or not now. */
  void remove(Block block) {
    if (queue.remove(block) && block.ticket > mark) {
      bytesAboveMark -= block.rawLength;
    }
  }

  /**
   * A changelog asks for everything it sealed.
   *
   * @param lastTicketOfAsker ticket of its last block; 0 when it never sealed one
   */
  void asked(BlockLedger changelog, long lastTicketOfAsker) {
    asked.add(changelog);
    if (lastTicketOfAsker > mark) {
      awaited = true;
    }
    endRoundIfAllAsked();
    checkThresholds();
  }

  private void endRoundIfAllAsked() {
    if (!asked.isEmpty() && asked.size() == open.size()) {
      endRound();
    }
  }

  private void endRound() {
    asked.clear();
    round++;
    timed = false;
    flush();
  }

  private void checkThresholds() {
    if (bytesAboveMark >= settings.preemptiveBytes()
        || (awaited && bytesAboveMark >= settings.segmentBytes())) {
      flush();
    }
  }

  /** Everything that is queued goes out. */
  void flush() {
    mark = lastTicket;
    bytesAboveMark = 0;
    awaited = false;
  }

  /** Whether the delay must be started now, for {@link #round()}; says so once in a round. */
  boolean startsTimer() {
    if (awaited && !timed) {
      timed = true;
      return true;
    }
    return false;
  }

  long round() {
    return round;
  }

  /** The delay of a round has passed; nothing happens when the round is over already. */
  void expired(long ofRound) {
    if (ofRound == round) {
      endRound();
    }
  }

  /** Takes what goes out now, by segment; empty while something below the mark is being encoded. */
  List<List<Block>> takeReady() {
    for (Block block : queue) {
      if (block.ticket > mark) {
        break;
      }
      if (block.state == Block.State.ENCODING) {
        return List.of();
      }
    }
    List<List<Block>> segments = new ArrayList<>();
    List<Block> current = List.of();
    long bytes = 0;
    for (Iterator<Block> it = queue.iterator(); it.hasNext(); ) {
      Block block = it.next();
      if (block.ticket > mark) {
        break;
      }
      it.remove();
      int length = block.encoded == null ? 0 : block.encoded.length();
      if (current.isEmpty() || bytes + length > settings.segmentBytes()) {
        current = new ArrayList<>();
        segments.add(current);
        bytes = 0;
      }
      current.add(block);
      bytes += length;
    }
    return segments;
  }
}
