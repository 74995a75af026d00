package io.alluvium.testkit.script;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Generates scripts from a seed. Confined to one thread. */
public final class ScriptGenerator {

  private static final List<String> KEYS = List.of("k0", "k1", "k2", "k3", "k4", "key-five");
  private static final List<String> USER_KEYS = List.of("a", "b", "ab", "c", "zz");
  private static final int TIMES = 6;

  private final Random random;
  private final Matrix matrix;
  private final List<String> lines = new ArrayList<>();
  private final List<Long> pending = new ArrayList<>();
  private long lastId;
  private int values;

  private ScriptGenerator(long seed, Matrix matrix) {
    this.random = new Random(seed);
    this.matrix = matrix;
  }

  /** Generates the script of a seed with about {@code length} lines. */
  public static Script make(long seed, Matrix matrix, int length) {
    return new ScriptGenerator(seed, matrix).make(length);
  }

  private Script make(int length) {
    lines.addAll(matrix.any(random));
    lines.add("restore into " + (1 + random.nextInt(3)) + " subtasks");
    while (lines.size() < length) {
      step();
    }
    return new Script(lines);
  }

  private void step() {
    int dice = random.nextInt(100);
    if (dice < 14) {
      lines.add("key " + any(KEYS));
    } else if (dice < 72) {
      lines.add(stateStep());
    } else if (dice < 84) {
      checkpointStep();
    } else if (dice < 89) {
      lines.add("materialize");
    } else if (dice < 93) {
      restartStep();
    } else {
      otherStep();
    }
  }

  private String stateStep() {
    String space = random.nextInt(3) == 0 ? "/" + any(StateSteps.NAMESPACES) : "";
    return switch (random.nextInt(20)) {
      case 0, 1 -> "value.update v" + space + " " + value();
      case 2 -> "value.clear v" + space;
      case 3, 4, 5 -> "list.add l" + space + " " + value();
      case 6 -> "list.addAll l" + space + " " + value() + "," + value();
      case 7 -> "list.update l" + space + (random.nextInt(4) == 0 ? "" : " " + value());
      case 8 -> "list.clear l" + space;
      case 9, 10 -> "map.put m" + space + " " + entry();
      case 11 -> "map.put m" + space + " " + entry() + "," + "q=" + value();
      case 12 -> "map.remove m" + space + " " + any(USER_KEYS);
      case 13 -> (random.nextBoolean() ? "map.sweep m" : "map.clear m") + space;
      case 14 -> "reduce.add r" + space + " " + value();
      case 15 -> (random.nextInt(3) == 0 ? "reduce.clear r" : "agg.clear a") + space;
      case 16 -> "agg.add a" + space + " " + value();
      case 17, 18 -> timer(random.nextInt(4) == 0 ? "timer.delete" : "timer.register");
      default -> "timer.poll " + any(StateSteps.TIMERS);
    };
  }

  private String timer(String verb) {
    return verb
        + " "
        + any(StateSteps.TIMERS)
        + " "
        + any(StateSteps.NAMESPACES)
        + " "
        + (random.nextInt(TIMES) - 1) * 100;
  }

  private String value() {
    String value = "x" + values++;
    return random.nextInt(30) == 0 ? value + "-".repeat(random.nextInt(2_000)) : value;
  }

  private String entry() {
    return any(USER_KEYS) + "=" + value();
  }

  private void checkpointStep() {
    int dice = random.nextInt(10);
    if (dice < 6 || pending.isEmpty()) {
      lines.add("checkpoint " + ++lastId);
      if (random.nextInt(5) < 2) {
        lines.add("confirm " + lastId);
        pending.clear();
      } else {
        pending.add(lastId);
      }
    } else {
      long id = pending.remove(random.nextInt(pending.size()));
      lines.add((dice < 9 ? "confirm " : "abort ") + id);
      if (dice < 9) {
        pending.removeIf(older -> older < id);
      }
    }
  }

  private void restartStep() {
    if (random.nextBoolean()) {
      lines.add("kill");
    }
    if (random.nextBoolean()) {
      lines.add(matrix.change(random));
    }
    if (random.nextInt(3) == 0) {
      lines.add("damage newest");
    }
    lines.add("restore into " + (1 + random.nextInt(3)) + " subtasks");
    pending.clear();
  }

  private void otherStep() {
    switch (random.nextInt(9)) {
      case 0, 1 -> lines.add(fault());
      case 2 -> lines.add("heal");
      case 3 -> lines.add("check");
      case 4, 5, 6 -> lines.add("gc");
      case 7 -> lines.add("idle");
      default -> lines.add("sleep " + (1 + random.nextInt(3_000)) + "ms");
    }
  }

  private String fault() {
    int first = 1 + random.nextInt(6);
    String which = " #" + first + (random.nextBoolean() ? "" : "-" + (first + random.nextInt(4)));
    return switch (random.nextInt(7)) {
      case 0 -> "fail before put data/*" + which;
      case 1 -> "fail after put data/*" + which;
      case 2 -> "fail after putifabsent slots/*" + which;
      case 3 -> "fail before putifabsent slots/*" + which;
      case 4 -> "throttle put *" + which;
      case 5 -> "fail before delete *" + which;
      default -> "delay " + (1 + random.nextInt(5_000)) + "ms put *" + which;
    };
  }

  private String any(List<String> from) {
    return from.get(random.nextInt(from.size()));
  }
}
