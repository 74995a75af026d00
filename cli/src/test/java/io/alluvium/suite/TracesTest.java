package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.Metrics;
import io.alluvium.state.ListState;
import io.alluvium.state.StateDescriptor;
import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.blob.FaultPlan;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.script.Script;
import io.alluvium.testkit.script.Scripts;
import io.alluvium.testkit.sim.InOrder;
import io.alluvium.testkit.sim.RandomChoices;
import io.alluvium.testkit.sim.SimulatedBlobStore.Network;
import io.alluvium.testkit.sim.SimulatedProcess;
import io.alluvium.testkit.sim.Simulation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Traces that broke earlier wordings of the protocol, step by step against the real classes, with
 * their numbers in docs/protocol.md (T1, T3, T7, T9, T10, T12, T13, T14). Those about several
 * owners are in the catalog's own tests (T2, T3, T4, T5, T6, T8, T9, T11).
 */
final class TracesTest {

  private static final KeyGroupRange ALL = new KeyGroupRange(0, 4);
  private static final Duration A_WHILE = Duration.ofHours(1);

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  private final MapBlobStore blobs = new MapBlobStore();
  private final Simulation simulation = new Simulation(new InOrder());
  private int processes;

  /** One process with one subtask and a list. */
  private final class Job {
    private final SimulatedProcess process = simulation.process("P" + ++processes);
    private final StateBackend backend;

    @SuppressWarnings("NullAway.Init") // by start or restore
    private KeyedBackend<String> keyed;

    @SuppressWarnings("NullAway.Init") // by start or restore
    private ListState<String> list;

    private Job(Map<String, String> settings) {
      Map<String, String> all = new HashMap<>(settings);
      all.put("state.checkpoints.dir", "memory:");
      all.put("state.backend.rocksdb.localdir", directory.resolve(process.name()).toString());
      backend =
          StateBackend.open(
              all,
              new Components(
                  Optional.of(process.store(blobs, Network.RELIABLE)),
                  Optional.of(process.execution()),
                  new Random(processes),
                  Metrics.NONE));
    }

    private void start() {
      Optional<Checkpoint> checkpoint = backend.catalog().takeOver("job");
      restore(checkpoint.map(Checkpoint::handles).orElse(List.of()));
    }

    private void restore(List<CheckpointHandle> handles) {
      RestoreMode mode = backend.catalog().restoreMode();
      keyed = backend.keyed(Serializers.string(), 4, ALL, handles, mode);
      keyed.setCurrentKey("key");
      list = keyed.state(StateDescriptor.list("list", Serializers.string()));
    }

    private CheckpointHandle await(CompletableFuture<CheckpointHandle> future) {
      return process.execution().await(future);
    }

    private void commit(CheckpointHandle handle) {
      backend.catalog().commit(handle.checkpointId(), List.of(handle), new byte[0]);
      keyed.confirm(handle.checkpointId());
    }
  }

  /** Runs a step of a job to its end, or to where it is held. */
  private Simulation.End run(Job job, Runnable step) {
    // Each step is a thread of its own.
    job.process.spawn(
        "step",
        () -> {
          step.run();
          job.keyed.handOver();
        });
    return simulation.run();
  }

  /** Lets time pass for everybody who is not held. */
  private void wait(Duration duration) {
    SimulatedProcess clock = simulation.process("clock");
    clock.spawn("wait", () -> clock.execution().sleep(duration));
    simulation.run();
  }

  /**
   * 1. A change is in the table and not published yet when the materializer reads its position and
   * takes a snapshot; a checkpoint that was triggered before must not name those files, or the
   * change would be in a restored table and its number used again.
   */
  @ParameterizedTest
  @ValueSource(strings = {"yielding-heap", "yielding-rocksdb"})
  void trace1_filesWithAnUnpublishedChange_areNotNamedByAnEarlierCheckpoint(String type) {
    Job job = new Job(Map.of("state.backend.type", type));
    List<CompletableFuture<CheckpointHandle>> futures = new ArrayList<>();
    run(
        job,
        () -> {
          job.start();
          job.list.add("zero");
          futures.add(job.keyed.checkpoint(1));
        });
    job.process.holdAt("table written");
    assertThat(run(job, () -> job.list.add("one"))).isEqualTo(Simulation.End.HELD);
    wait(A_WHILE);
    simulation.settle();
    job.process.release();
    for (int i = 0; i < 10; i++) {
      // A heap table goes on with its snapshot only now.
      run(job, () -> job.keyed.idle());
      simulation.settle();
    }

    List<CheckpointHandle> handles = new ArrayList<>();
    run(
        job,
        () -> {
          handles.add(job.await(futures.get(0)));
          handles.add(job.await(job.keyed.checkpoint(2)));
        });
    CheckpointHandle first = handles.get(0);
    assertThat(first.end()).isEqualTo(1);
    assertThat(materializations(first)).isEmpty();
    CheckpointHandle second = handles.get(1);
    assertThat(second.end()).isEqualTo(2);
    assertThat(materializations(second))
        .singleElement()
        .satisfies(
            files -> {
              assertThat(files.position()).isEqualTo(1);
              assertThat(files.containedUpTo()).isEqualTo(2);
            });

    assertThat(elementsAfterOneMore(type, first)).containsExactly("zero", "more");
    assertThat(elementsAfterOneMore(type, second)).containsExactly("zero", "one", "more");
  }

  private static List<Materialization> materializations(CheckpointHandle handle) {
    return handle.parts().stream().flatMap(part -> part.materialization().stream()).toList();
  }

  private List<String> elementsAfterOneMore(String type, CheckpointHandle handle) {
    Job job = new Job(Map.of("state.backend.type", type));
    List<String> elements = new ArrayList<>();
    run(
        job,
        () -> {
          Optional<Checkpoint> unused = job.backend.catalog().takeOver("job");
          job.restore(List.of(handle));
          job.list.add("more");
          elements.addAll(job.list.get());
        });
    return elements;
  }

  /**
   * 14. The first segment hangs, the second is stored: nothing is durable beyond the hole, and no
   * checkpoint completes over it.
   */
  @Test
  void trace14_laterSegmentStored_doesNotMakeTheHoleDurable() {
    Job job =
        new Job(
            Map.of(
                "state.backend.type", "heap",
                "state.backend.changelog.periodic-materialize.interval", "0"));
    List<CompletableFuture<CheckpointHandle>> futures = new ArrayList<>();
    job.process.holdAt("put data/*/0000000000000000.log");
    run(
        job,
        () -> {
          job.start();
          job.list.add("zero");
          futures.add(job.keyed.checkpoint(1));
          job.process.execution().sleep(Duration.ofMillis(100));
          job.list.add("one");
          futures.add(job.keyed.checkpoint(2));
        });
    wait(Duration.ofMillis(500));
    simulation.settle();
    assertThat(blobs.content().keySet())
        .noneMatch(name -> name.endsWith("0000000000000000.log"))
        .anyMatch(name -> name.endsWith("0000000000000001.log"));
    assertThat(futures).noneMatch(CompletableFuture::isDone);
    job.process.release();
    run(job, () -> job.commit(job.await(futures.get(1))));
    job.process.kill();

    Job next = new Job(Map.of("state.backend.type", "heap"));
    List<String> elements = new ArrayList<>();
    run(
        next,
        () -> {
          next.start();
          elements.addAll(next.list.get());
        });
    assertThat(elements).containsExactly("zero", "one");
  }

  /**
   * 9. The newest checkpoint is damaged, and the next owner falls back to the one before while the
   * stalled previous owner is about to delete exactly that: what the next owner then stores needs
   * none of its blobs.
   */
  @Test
  void trace9_fallbackToWhatAStalledOwnerDeletes_needsNoneOfItsBlobs() {
    Map<String, String> settings =
        Map.of("state.backend.type", "heap", "alluvium.restore.fallback", "true");
    Job stalled = new Job(settings);
    stalled.process.holdAt("delete *");
    run(
        stalled,
        () -> {
          stalled.start();
          for (long id = 1; id <= 2; id++) {
            stalled.list.add("element " + id);
            stalled.commit(stalled.await(stalled.keyed.checkpoint(id)));
          }
        });
    simulation.settle();
    assertThat(stalled.process.heldAt()).isNotEmpty();
    String newest = "slots/0000000000000003";
    blobs.flip(newest, 40, 3);

    Job next = new Job(settings);
    List<RestoreMode> modes = new ArrayList<>();
    run(
        next,
        () -> {
          next.start();
          modes.add(next.backend.catalog().restoreMode());
          next.list.add("element 3");
          next.commit(next.await(next.keyed.checkpoint(3)));
        });
    assertThat(modes).containsExactly(RestoreMode.DETACHED);
    stalled.process.release();
    simulation.settle();
    next.process.kill();

    Job last = new Job(settings);
    List<String> elements = new ArrayList<>();
    run(
        last,
        () -> {
          last.start();
          elements.addAll(last.list.get());
        });
    assertThat(elements).containsExactly("element 1", "element 3");
  }

  /** 7. What a triggered checkpoint stands on outlives newer materializations and collections. */
  private static final String TRACE_7 =
      """
      list.add l x1
      materialize
      checkpoint 1
      confirm 1
      list.add l x2
      materialize
      checkpoint 2
      list.add l x3
      checkpoint 3
      list.add l x4
      materialize
      checkpoint 4
      abort 4
      materialize
      gc
      confirm 3
      gc
      kill
      restore into 2 subtasks
      """;

  /**
   * 10. A checkpoint's end counts although its part of the changelog is empty, or there is none.
   */
  private static final String TRACE_10 =
      """
      set state.backend.changelog.enabled=false
      list.add l x1
      list.add l x2
      checkpoint 1
      confirm 1
      set state.backend.changelog.enabled=true
      restore into 1 subtasks
      checkpoint 2
      confirm 2
      kill
      restore into 1 subtasks
      list.add l x3
      materialize
      list.add l x4
      checkpoint 3
      confirm 3
      materialize
      checkpoint 4
      confirm 4
      kill
      restore into 2 subtasks
      list.add l x5
      checkpoint 5
      confirm 5
      set state.backend.changelog.enabled=false
      restore into 1 subtasks
      list.add l x6
      checkpoint 6
      confirm 6
      kill
      restore into 1 subtasks
      """;

  /** 12 and 13. Operands that files hold already come again, in any mixture with replacements. */
  private static final String TRACE_12 =
      """
      set alluvium.restore.time-objective=1us
      list.add l x1
      checkpoint 1
      list.add l x2
      list.add l x3
      list.update l x4
      list.add l x5
      checkpoint 2
      list.addAll l x6,x7
      idle
      idle
      list.add l x8
      checkpoint 3
      list.clear l
      list.add l x9
      checkpoint 4
      confirm 4
      kill
      restore into 3 subtasks
      list.add l x10
      checkpoint 5
      confirm 5
      kill
      restore into 1 subtasks
      """;

  /** 3. A manifest that was stored although its answer was lost, again and again. */
  private static final String TRACE_3 =
      """
      list.add l x1
      checkpoint 1
      confirm 1
      fail after putifabsent slots/*
      list.add l x2
      checkpoint 2
      confirm 2
      heal
      kill
      restore into 2 subtasks
      """;

  @ParameterizedTest
  @ValueSource(strings = {"heap", "yielding-heap", "rocksdb", "yielding-rocksdb"})
  void tracesAsScripts_anyOrder_equalTheModel(String type) {
    for (String text : List.of(TRACE_3, TRACE_7, TRACE_10, TRACE_12)) {
      Script script =
          Script.parse(text)
              .after(List.of("set state.backend.type=" + type, "restore into 1 subtasks"));
      for (long seed = 0; seed < (type.endsWith("heap") ? 10 : 3); seed++) {
        try {
          Scripts.simulate(
              new RandomChoices(seed), Network.RELIABLE, script, directory, new FaultPlan());
        } catch (AssertionError e) {
          throw new AssertionError("choices " + seed + " of\n" + script + e.getMessage(), e);
        }
      }
    }
  }
}
