package io.alluvium.testkit.script;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointInspector;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyGroups;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.config.Durations;
import io.alluvium.spi.BlobName;
import io.alluvium.state.Timer;
import io.alluvium.testkit.blob.FaultRule;
import io.alluvium.testkit.model.ModelBackend;
import io.alluvium.testkit.model.ModelJob;
import io.alluvium.testkit.model.Texts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Runs one script against the public API and against the model, and compares their results.
 * Confined to one thread: it is the task thread of every subtask.
 */
public final class ScriptRunner {

  private static final String JOB = "scripted";
  private static final String FALLBACK = "alluvium.restore.fallback";
  private static final int RESTORE_ATTEMPTS = 4;
  private static final int CLEANUP_ATTEMPTS = 20;

  /** A running process with its subtasks. */
  private record Running(
      StateBackend process,
      List<KeyedBackend<String>> subtasks,
      List<ModelBackend<String>> models) {}

  /*
   * After a commit of unknown outcome, the next restore may find that checkpoint or the previous one; both are correct.
   * A commit without changes writes nothing and keeps the older manifest, which then represents the new id.
   */
  private final Deployment deployment;
  private final Script script;
  private final int maxParallelism;
  private final KeyGroups<String> keyGroups;
  private final ModelJob<String> model;
  private final Map<String, String> settings = new HashMap<>();
  private final TreeMap<Long, List<CompletableFuture<CheckpointHandle>>> pending = new TreeMap<>();
  private final Map<Long, Long> standsFor = new HashMap<>();
  private @Nullable Running running;
  private int parallelism = 1;
  private long lastId;

  /** Whether the newest checkpoint in the store is damaged, so that a restore must fall back. */
  private boolean newestDamaged;

  private String key = "k0";
  private int fallbacks;

  public ScriptRunner(Deployment deployment, Script script, int maxParallelism) {
    this.deployment = deployment;
    this.script = script;
    this.maxParallelism = maxParallelism;
    this.keyGroups = new KeyGroups<>(Texts.INSTANCE, maxParallelism);
    this.model = new ModelJob<>(Texts.INSTANCE, maxParallelism);
    settings.put("state.checkpoints.dir", "memory:");
    settings.put(FALLBACK, "false");
  }

  /**
   * Runs the script, then ends the job: takes a last checkpoint, restarts, polls all timers, and
   * checks that the store holds no unreferenced blob.
   *
   * @throws AssertionError if a result differs from the model, with the line
   */
  public void run() {
    int number = 0;
    try {
      for (String line : script.lines()) {
        number++;
        step(line);
      }
      finish();
    } catch (AssertionError | RuntimeException e) {
      String where =
          number <= script.lines().size() && number > 0 ? script.lines().get(number - 1) : "";
      throw new AssertionError("line " + number + " '" + where + "': " + e, e);
    }
  }

  /** Number of restores that fell back, because the newest checkpoint was damaged. */
  public int fallbacks() {
    return fallbacks;
  }

  private void step(String line) {
    String[] words = line.split(" +");
    deployment.pause(line);
    switch (words[0]) {
      case "set" -> {
        int equals = line.indexOf('=');
        settings.put(line.substring(4, equals), line.substring(equals + 1));
      }
      case "key" -> key = words[1];
      case "checkpoint" -> checkpoint(Long.parseLong(words[1]));
      case "confirm" -> confirm(Long.parseLong(words[1]));
      case "abort" -> abort(Long.parseLong(words[1]));
      case "materialize" -> materialize();
      case "gc" -> onStore(() -> up().process.catalog().collectGarbage());
      case "idle" -> up().subtasks.forEach(KeyedBackend::idle);
      case "sleep" -> deployment.sleep(Durations.parse(words[1]));
      case "kill" -> kill();
      case "restore" -> restore(Integer.parseInt(words[2]));
      case "check" -> check();
      case "damage" -> damageNewest();
      case "heal" -> deployment.heal();
      case "fail", "throttle", "delay", "short", "flip", "truncate" ->
          deployment.fault(FaultRule.parse(line).toString());
      default -> stateStep(line, words);
    }
  }

  private void stateStep(String line, String[] words) {
    if (!StateSteps.isStateStep(words[0])) {
      throw new IllegalArgumentException("no step '" + line + "'");
    }
    Running job = up();
    int subtask = KeyGroupRange.subtaskOf(keyGroups.of(key), maxParallelism, job.subtasks.size());
    KeyedBackend<String> real = job.subtasks.get(subtask);
    KeyedBackend<String> expected = job.models.get(subtask);
    real.setCurrentKey(key);
    expected.setCurrentKey(key);
    if (words[0].equals("timer.poll")) {
      StateSteps.poll(words[1], real, expected);
      return;
    }
    same(
        "after '" + line + "' at " + key,
        StateSteps.apply(expected, words),
        StateSteps.apply(real, words));
  }

  private static void same(String what, Object expected, Object actual) {
    if (!expected.equals(actual)) {
      throw new AssertionError(what + ": expected\n  " + expected + "\nactual\n  " + actual);
    }
  }

  /** Returns the running job; starts it if it is not running. */
  private Running up() {
    Running job = running;
    if (job == null) {
      job = start();
      running = job;
    }
    return job;
  }

  private void checkpoint(long id) {
    if (id <= lastId) {
      return;
    }
    Running job = up();
    lastId = id;
    List<CompletableFuture<CheckpointHandle>> futures = new ArrayList<>();
    for (KeyedBackend<String> subtask : job.subtasks) {
      futures.add(subtask.checkpoint(id));
    }
    model.checkpoint(id);
    pending.put(id, futures);
  }

  private void confirm(long id) {
    List<CompletableFuture<CheckpointHandle>> futures = pending.get(id);
    Running job = running;
    if (futures == null || job == null) {
      return;
    }
    List<CheckpointHandle> handles = new ArrayList<>();
    try {
      for (CompletableFuture<CheckpointHandle> future : futures) {
        handles.add(deployment.await(future));
      }
    } catch (StateBackendException e) {
      requireUnavailable(e);
      abort(id);
      return;
    }
    CheckpointCatalog.Commit commit;
    try {
      commit = job.process.catalog().commit(id, handles, new byte[] {1, 2, 3});
    } catch (StateBackendException e) {
      requireUnavailable(e);
      // The outcome is unknown: this owner must stop; the next one finds the outcome.
      kill();
      return;
    }
    newestDamaged &= !commit.written();
    if (commit.written()) {
      same("id of the stored checkpoint", id, commit.checkpoint().id());
    }
    standsFor.put(commit.checkpoint().id(), id);
    job.subtasks.forEach(subtask -> subtask.confirm(id));
    model.confirm(id);
    pending.headMap(id, true).clear();
  }

  private static void requireUnavailable(StateBackendException e) {
    if (e.kind() != Kind.UNAVAILABLE) {
      throw e;
    }
  }

  private void abort(long id) {
    if (pending.remove(id) != null && running != null) {
      running.subtasks.forEach(subtask -> subtask.abort(id));
      model.abort(id);
    }
  }

  private void materialize() {
    Running job = up();
    deployment.sleep(deployment.materializationPause());
    for (int i = 0; i < 20; i++) {
      job.subtasks.forEach(KeyedBackend::idle);
      deployment.pause("materialize");
    }
  }

  private void kill() {
    if (running != null) {
      deployment.kill();
      running = null;
      forgetPending();
    }
  }

  /** Pending checkpoints of a dead process can no longer be confirmed, but may be stored. */
  private void forgetPending() {
    pending.clear();
  }

  /**
   * Kills the job and damages its newest checkpoint: the manifest, or a blob that no other needs.
   * Does nothing if the next start could not fall back to the previous checkpoint.
   */
  private void damageNewest() {
    if (newestDamaged || !Boolean.parseBoolean(settings.get(FALLBACK))) {
      return;
    }
    Running job = up();
    List<Checkpoint> sound = new ArrayList<>();
    onStore(
        () ->
            job.process.inspector().list().stream()
                .flatMap(entry -> entry.checkpoint().stream())
                .forEach(sound::add));
    kill();
    if (sound.size() < 2) {
      return;
    }
    Checkpoint newest = sound.get(sound.size() - 1);
    Checkpoint older = sound.get(sound.size() - 2);
    Set<String> needed = new TreeSet<>();
    addBlobs(older, needed);
    Set<String> stored = new TreeSet<>(deployment.blobs(""));
    // The older checkpoint may have been subsumed meanwhile.
    if (!stored.containsAll(needed) || !stored.contains(slotOf(older))) {
      return;
    }
    Set<String> own = new TreeSet<>();
    addBlobs(newest, own);
    own.removeAll(needed);
    if (own.isEmpty() || newest.id() % 2 == 0) {
      deployment.flip(slotOf(newest));
    } else {
      deployment.lose(own.iterator().next());
    }
    newestDamaged = true;
  }

  private static String slotOf(Checkpoint checkpoint) {
    return String.format(Locale.ROOT, "slots/%016x", checkpoint.slot());
  }

  private void restore(int newParallelism) {
    parallelism = newParallelism;
    stop();
    up();
    check();
  }

  private void stop() {
    if (running != null) {
      running.process.close();
      running = null;
      // A closed process is removed from the deployment like a killed one.
      deployment.kill();
      forgetPending();
    }
  }

  private Running start() {
    for (int attempt = 1; ; attempt++) {
      try {
        return startOnce();
      } catch (StateBackendException e) {
        requireUnavailable(e);
        deployment.kill();
        if (attempt == RESTORE_ATTEMPTS) {
          deployment.heal();
        } else if (attempt > RESTORE_ATTEMPTS) {
          throw e;
        }
      }
    }
  }

  private Running startOnce() {
    Map<String, String> all = new HashMap<>(settings);
    if (newestDamaged) {
      // Overrides the setting of the script until there is a newer checkpoint.
      all.put(FALLBACK, "true");
    }
    StateBackend process = deployment.start(all);
    Optional<Checkpoint> checkpoint = process.catalog().takeOver(JOB);
    while (true) {
      try {
        List<KeyedBackend<String>> subtasks = open(process, checkpoint);
        restoreModel(checkpoint.map(Checkpoint::id).orElse(0L), process.catalog().restoreMode());
        return new Running(process, subtasks, models());
      } catch (StateBackendException e) {
        if (e.kind() != Kind.CORRUPT || checkpoint.isEmpty()) {
          throw e;
        }
        checkpoint = process.catalog().fallbackFrom(checkpoint.get());
        if (checkpoint.isEmpty()) {
          throw e;
        }
      }
    }
  }

  /** Opens all subtasks; closes them again if one fails. */
  private List<KeyedBackend<String>> open(StateBackend process, Optional<Checkpoint> checkpoint) {
    List<CheckpointHandle> handles = checkpoint.map(Checkpoint::handles).orElse(List.of());
    List<KeyedBackend<String>> subtasks = new ArrayList<>();
    try {
      for (int i = 0; i < parallelism; i++) {
        subtasks.add(
            process.keyed(
                Texts.INSTANCE,
                maxParallelism,
                KeyGroupRange.ofSubtask(maxParallelism, parallelism, i),
                handles,
                process.catalog().restoreMode()));
      }
      return subtasks;
    } catch (StateBackendException e) {
      subtasks.forEach(KeyedBackend::close);
      throw e;
    }
  }

  private void restoreModel(long stored, RestoreMode mode) {
    long id = standsFor.getOrDefault(stored, stored);
    if (mode == RestoreMode.DETACHED) {
      fallbacks++;
      model.fallBack(id);
    } else {
      model.restore(id);
    }
  }

  private List<ModelBackend<String>> models() {
    List<ModelBackend<String>> models = new ArrayList<>();
    for (int i = 0; i < parallelism; i++) {
      models.add(model.subtask(KeyGroupRange.ofSubtask(maxParallelism, parallelism, i)));
    }
    return models;
  }

  private void check() {
    Running job = up();
    for (int i = 0; i < job.subtasks.size(); i++) {
      List<String> expected = StateSteps.dump(job.models.get(i));
      List<String> actual = StateSteps.dump(job.subtasks.get(i));
      if (!expected.equals(actual)) {
        throw new AssertionError("subtask " + i + " differs" + difference(expected, actual));
      }
    }
  }

  private static String difference(List<String> expected, List<String> actual) {
    List<String> missing = new ArrayList<>(expected);
    missing.removeAll(actual);
    List<String> surplus = new ArrayList<>(actual);
    surplus.removeAll(expected);
    return ":\n  expected " + missing + "\n  actual " + surplus;
  }

  /** Runs an action and ignores UNAVAILABLE. */
  private void onStore(Runnable action) {
    try {
      action.run();
    } catch (StateBackendException e) {
      requireUnavailable(e);
    }
  }

  private void finish() {
    deployment.heal();
    settings.put("state.checkpoints.num-retained", "1");
    check();
    confirmOne();
    restore(parallelism);
    Running job = up();
    for (int i = 0; i < job.subtasks.size(); i++) {
      for (String queue : StateSteps.TIMERS) {
        drain(queue, job.subtasks.get(i), job.models.get(i));
      }
    }
    confirmOne();
    // If the outcome was unknown, the job was killed, and its next owner cleans up.
    Running last = up();
    last.subtasks.forEach(KeyedBackend::close);
    retry(() -> last.process.catalog().collectGarbage());
    retry(() -> checkBlobs(last));
    stop();
  }

  private void confirmOne() {
    for (int attempt = 1; ; attempt++) {
      long id = lastId + 1;
      checkpoint(id);
      confirm(id);
      if (model.confirmed() == id) {
        return;
      }
      if (attempt == RESTORE_ATTEMPTS) {
        throw new AssertionError(attempt + " checkpoints in a row failed");
      }
    }
  }

  /** Retries an action that may fail because of the network. */
  private static void retry(Runnable action) {
    for (int attempt = 1; ; attempt++) {
      try {
        action.run();
        return;
      } catch (StateBackendException e) {
        requireUnavailable(e);
        if (attempt == CLEANUP_ATTEMPTS) {
          throw e;
        }
      }
    }
  }

  private static void drain(
      String queue, KeyedBackend<String> real, KeyedBackend<String> expected) {
    Timer<String, String> polled;
    do {
      polled = StateSteps.poll(queue, real, expected);
    } while (polled != null);
  }

  /** The store holds exactly the blobs that checkpoints reference. */
  private void checkBlobs(Running job) {
    Set<String> named = new TreeSet<>();
    for (CheckpointInspector.Entry entry : job.process.inspector().list()) {
      entry.checkpoint().ifPresent(checkpoint -> addBlobs(checkpoint, named));
    }
    Set<String> stored = new TreeSet<>(deployment.blobs(BlobName.PREFIX));
    same("blobs in the store after garbage collection", named, stored);
  }

  private static void addBlobs(Checkpoint checkpoint, Set<String> into) {
    for (CheckpointHandle handle : checkpoint.handles()) {
      handle.blobs().stream().map(BlobName::toString).forEach(into::add);
    }
  }
}
