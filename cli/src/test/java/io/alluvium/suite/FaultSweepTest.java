package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.StateBackendException;
import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.BlobOp;
import io.alluvium.testkit.blob.Fault;
import io.alluvium.testkit.blob.FaultPlan;
import io.alluvium.testkit.script.Script;
import io.alluvium.testkit.script.Scripts;
import io.alluvium.testkit.sim.RandomChoices;
import io.alluvium.testkit.sim.SimulatedBlobStore.Network;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every single fault of one scenario: its calls to the blob store are recorded, then it runs once
 * for each call and each fault that the call can suffer. Afterwards the newest checkpoint restores
 * exactly, or, where bytes were damaged, the one before does or the damage is told; and every blob
 * that is left is one that a checkpoint names.
 */
final class FaultSweepTest {

  /** All that touches the store: checkpoints of both kinds, retention, collection, rescaling. */
  static final Script SCENARIO =
      Script.parse(
          """
          set alluvium.restore.fallback=true
          set state.checkpoints.num-retained=2
          restore into 2 subtasks
          value.update v x1
          list.add l x2
          key k2
          map.put m/n1 a=1,b=2
          timer.register t n1 100
          checkpoint 1
          confirm 1
          list.add l x3
          key k0
          list.add l x4
          materialize
          reduce.add r x5
          checkpoint 2
          list.add l x6
          checkpoint 3
          confirm 3
          kill
          restore into 1 subtasks
          map.put m/n1 c=3
          list.add l x7
          materialize
          checkpoint 4
          abort 4
          map.remove m/n1 a
          checkpoint 5
          confirm 5
          set state.backend.changelog.enabled=false
          restore into 2 subtasks
          list.add l x8
          checkpoint 6
          confirm 6
          key k2
          agg.add a x9
          checkpoint 7
          confirm 7
          gc
          """);

  private static final Set<BlobOp> WRITES = EnumSet.of(BlobOp.PUT, BlobOp.PUTIFABSENT);
  private static final Set<BlobOp> READS = EnumSet.of(BlobOp.READ);

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  static Stream<Arguments> faults() {
    Set<BlobOp> any = EnumSet.allOf(BlobOp.class);
    Set<BlobOp> changes = EnumSet.of(BlobOp.PUT, BlobOp.PUTIFABSENT, BlobOp.DELETE);
    Stream<Arguments> usual =
        Stream.of(
            Arguments.of(new Fault.FailBefore(), any),
            Arguments.of(new Fault.FailAfter(), changes),
            Arguments.of(new Fault.Delay(Duration.ofSeconds(30)), changes),
            Arguments.of(new Fault.ShortRead(3), READS),
            Arguments.of(new Fault.FlipBit(7_919, 5), READS),
            Arguments.of(new Fault.FlipBit(7_919, 5), WRITES),
            Arguments.of(new Fault.Truncate(20), WRITES));
    Stream<Arguments> more =
        Stream.of(
            Arguments.of(new Fault.Throttle(), any),
            Arguments.of(new Fault.Delay(Duration.ofSeconds(30)), READS),
            Arguments.of(new Fault.FlipBit(2, 0), WRITES),
            Arguments.of(new Fault.Truncate(0), WRITES));
    List<Arguments> onTheHeap = (Seeds.full() ? Stream.concat(usual, more) : usual).toList();
    return Stream.concat(
        onTheHeap.stream().map(each -> Arguments.of("heap", each.get()[0], each.get()[1])),
        onTheHeap.stream()
            .limit(Seeds.full() ? onTheHeap.size() : 2)
            .map(each -> Arguments.of("rocksdb", each.get()[0], each.get()[1])));
  }

  @ParameterizedTest
  @MethodSource("faults")
  void anyOneCall_thatSuffers_losesNothing(String type, Fault fault, Set<BlobOp> suffering) {
    FaultPlan recorded = new FaultPlan();
    run(type, recorded);
    List<FaultPlan.Call> calls = recorded.calls();
    assertThat(calls).hasSizeGreaterThan(60);
    int tried = 0;
    List<String> failures = new ArrayList<>();
    for (int number = 0; number < calls.size(); number++) {
      if (suffering.contains(calls.get(number).op())) {
        tried++;
        FaultPlan plan = new FaultPlan();
        plan.failCall(number, fault);
        try {
          run(type, plan);
        } catch (AssertionError e) {
          if (!toldAsDamage(e, fault) && !leftByUnknown(calls.get(number), fault, e)) {
            failures.add("call " + number + " " + calls.get(number) + " -> " + fault + ": " + e);
          }
        }
      }
    }
    assertThat(failures).isEmpty();
    assertThat(tried).isPositive();
  }

  /** Bytes that were damaged may end a job, if it says which blob is damaged. */
  private static boolean toldAsDamage(Throwable failure, Fault fault) {
    boolean damages =
        fault instanceof Fault.FlipBit
            || fault instanceof Fault.Truncate
            || fault instanceof Fault.ShortRead;
    for (Throwable e = failure; e != null; e = e.getCause()) {
      if (e instanceof StateBackendException known) {
        return damages
            && known.kind() == StateBackendException.Kind.CORRUPT
            && String.valueOf(known.getMessage()).matches("(?s).*'(data|slots)/[0-9a-f].*");
      }
    }
    return false;
  }

  /**
   * Without its takeover record nobody knows that an incarnation is older, so its blobs stay for
   * ever (C4): of no use, and harmless.
   */
  private static boolean leftByUnknown(FaultPlan.Call call, Fault fault, Throwable failure) {
    boolean takeover = call.op() == BlobOp.PUTIFABSENT && call.detail().matches("[0-9]{1,2} bytes");
    boolean damages = fault instanceof Fault.FlipBit || fault instanceof Fault.Truncate;
    return takeover
        && damages
        && String.valueOf(failure.getMessage()).contains("blobs in the store after");
  }

  private void run(String type, FaultPlan faults) {
    Script script = SCENARIO.after(List.of("set state.backend.type=" + type));
    Scripts.simulate(new RandomChoices(4), Network.RELIABLE, script, directory, faults);
  }
}
