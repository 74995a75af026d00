package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointInspector;
import io.alluvium.StateBackend;
import io.alluvium.spi.BlobName;
import io.alluvium.testkit.kill.KillHarness;
import io.alluvium.testkit.s3.S3Server;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * A job of the command line with its checkpoints on the S3 server of the tests, and a look at what
 * it leaves there. Immutable.
 *
 * @param uri its checkpoint directory
 * @param endpoint of the server, or of a proxy before it
 */
record S3Job(String uri, URI endpoint) {

  private static final int KIND_OFFSET = 10;
  private static final byte TAKEOVER = 1;

  static S3Job fresh() {
    return new S3Job(S3Server.freshUri(), S3Server.get().endpoint());
  }

  /** The same job seen through a proxy. */
  S3Job through(URI proxy) {
    return new S3Job(uri, proxy);
  }

  /** A command of the job in a JVM of its own. */
  List<String> command(List<String> arguments) {
    List<String> options =
        new ArrayList<>(List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    options.addAll(S3Server.credentialOptions());
    List<String> all = new ArrayList<>(arguments);
    all.addAll(List.of("--set", "state.checkpoints.dir=" + uri));
    all.addAll(settings());
    return KillHarness.java(options, Alluvium.class.getName(), all);
  }

  private List<String> settings() {
    List<String> arguments = new ArrayList<>();
    S3Server.settings(endpoint)
        .forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
    return arguments;
  }

  /** {@code alluvium checkpoints ...} in this process. */
  Cli.Result checkpoints(String... arguments) {
    List<String> all = new ArrayList<>(List.of("checkpoints"));
    all.addAll(List.of(arguments));
    all.addAll(List.of("--dir", uri));
    all.addAll(settings());
    return Cli.run(all.toArray(String[]::new));
  }

  /**
   * Collects what the dead job left; then nothing may be there that nobody needs.
   *
   * @param retained manifests, if the one that was killed last has stored any
   * @param kills each may have come between the put of a manifest and the deletion of the one that
   *     it subsumes
   */
  void collectAndCheck(int retained, int kills) {
    Cli.Result gc = checkpoints("gc", "--grace", "0s", "--retain", Integer.toString(retained));
    assertThat(gc.status()).as(gc.err()).isZero();
    S3Server server = S3Server.get();
    Set<String> manifests = new TreeSet<>();
    Set<String> reached = new TreeSet<>();
    Map<String, String> settings = new HashMap<>(S3Server.settings(endpoint));
    settings.put("state.checkpoints.dir", uri);
    try (StateBackend backend = StateBackend.open(settings)) {
      for (CheckpointInspector.Entry entry : backend.inspector().list()) {
        manifests.add(entry.blobName());
        for (CheckpointHandle handle :
            entry.checkpoint().map(Checkpoint::handles).orElseThrow(AssertionError::new)) {
          handle.blobs().stream().map(BlobName::toString).forEach(reached::add);
        }
      }
    }
    TreeSet<String> objects = new TreeSet<>(server.objects(uri));
    boolean retired = manifests.contains(objects.last());
    assertThat(manifests).hasSizeLessThanOrEqualTo(retained + (retired ? 0 : kills));
    objects.removeAll(manifests);
    objects.removeIf(name -> isTakeover(server, name));
    assertThat(objects).as("data blobs after %s", gc.out()).isEqualTo(reached);
    assertThat(server.unfinishedUploads(uri)).isEmpty();
  }

  private boolean isTakeover(S3Server server, String name) {
    return name.startsWith("slots/") && server.object(uri, name)[KIND_OFFSET] == TAKEOVER;
  }

  /** Every byte of the newest checkpoint, if there is one, can be read and is right. */
  void verifyNewest() {
    Cli.Result list = checkpoints("list");
    assertThat(list.status()).as(list.err()).isZero();
    list.out()
        .lines()
        .filter(line -> Character.isDigit(line.charAt(0)))
        .map(line -> line.substring(0, line.indexOf(' ')))
        .reduce((older, newer) -> newer)
        .ifPresent(
            id -> {
              Cli.Result verify = checkpoints("verify", id);
              assertThat(verify.status()).as(verify.out() + verify.err()).isZero();
            });
  }
}
