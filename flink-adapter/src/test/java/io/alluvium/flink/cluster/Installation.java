package io.alluvium.flink.cluster;

import java.io.File;
import java.nio.file.Path;
import java.util.List;

/**
 * A Flink, the adapter's jar, and where that is put. Immutable.
 *
 * @param flink class path of Flink's jars
 */
record Installation(String flink, Path adapter, Layout layout) {

  /** Where the adapter's jar goes. */
  enum Layout {
    /** Beside Flink's jars, for all jobs. */
    LIB,
    /** Into the jar of the job, which a class loader of its own loads. */
    USER_JAR;

    /** By its name on a command line. */
    static Layout named(String name) {
      return switch (name) {
        case "lib" -> LIB;
        case "user-jar" -> USER_JAR;
        default -> throw new IllegalArgumentException("'" + name + "' is not lib or user-jar");
      };
    }
  }

  /** The class path of Flink's processes. */
  String classPath() {
    return layout == Layout.LIB ? adapter + File.pathSeparator + flink : flink;
  }

  /** What a job's jar has to hold besides the job. */
  List<Path> withJob() {
    return layout == Layout.LIB ? List.of() : List.of(adapter);
  }
}
