package io.alluvium.flink.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
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

  /** The jar that this build has made, on the version of Flink that it tests. */
  static Installation ofTheBuild(Layout layout) throws IOException {
    Path flink = Path.of(System.getProperty("alluvium.flink.classpath"));
    Path adapter = Path.of(System.getProperty("alluvium.flink.adapter"));
    if (!Files.exists(adapter)) {
      throw new IOException("no jar of the adapter at " + adapter);
    }
    return new Installation(Files.readString(flink).trim(), adapter, layout);
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
