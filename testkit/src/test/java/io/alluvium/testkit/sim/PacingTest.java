package io.alluvium.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.materialize.UploadPacer;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Pace;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rate limit of materializations, in virtual time. */
final class PacingTest {

  private static final long MB = 1L << 20;
  private static final int BACKENDS = 8;
  private static final Duration INTERVAL = Duration.ofSeconds(100);
  private static final long PIECE = MB;

  private final Simulation simulation = new Simulation(new InOrder());
  private final SimulatedProcess process = simulation.process("P");
  private final List<Upload> uploads = new ArrayList<>();
  private final long[] bytesBySecond = new long[2_000];

  /** When an upload was due and when it ended. */
  private record Upload(double dueSeconds, double endSeconds) {
    double took() {
      return endSeconds - dueSeconds;
    }
  }

  private final UploadPacer pacer = new UploadPacer(process.execution());

  private UploadPacer.Share share(Duration interval, long cap) {
    return pacer.share(new UploadPacer.Settings(interval, cap));
  }

  private double now() {
    return process.execution().nanoTime() / 1e9;
  }

  private void upload(UploadPacer.Share share, long bytes) {
    Pace pace = share.begin(bytes);
    for (long sent = 0; sent < bytes; sent += PIECE) {
      long piece = Math.min(PIECE, bytes - sent);
      pace.await(piece);
      bytesBySecond[(int) now()] += piece;
    }
  }

  /** Backends that upload once per interval, one at a time because there is one thread. */
  private void periodically(long cap, int rounds, long firstBytes, long laterBytes) {
    Random random = new Random(1);
    for (int i = 0; i < BACKENDS; i++) {
      UploadPacer.Share share = share(INTERVAL, cap);
      long first = (long) (random.nextDouble() * INTERVAL.toNanos());
      process.spawn(
          "backend" + i,
          () -> {
            process.execution().sleep(Duration.ofNanos(first));
            for (int round = 0; round < rounds; round++) {
              double due = now();
              long bytes = round < 2 ? firstBytes : laterBytes;
              share.due();
              CompletableFuture<Boolean> end = new CompletableFuture<>();
              process
                  .execution()
                  .materializations()
                  .execute(
                      () -> {
                        upload(share, bytes);
                        share.end();
                        end.complete(true);
                      });
              process.execution().await(end);
              uploads.add(new Upload(due, now()));
              process
                  .execution()
                  .sleep(Duration.ofNanos((long) ((due + INTERVAL.toSeconds() - now()) * 1e9)));
            }
          });
    }
    simulation.run();
  }

  @Test
  void upload_equalSizes_hasAnEvenRateAndEndsInTime() {
    periodically(0, 6, 40 * MB, 40 * MB);
    assertThat(uploads).hasSize(6 * BACKENDS).allMatch(upload -> upload.took() <= 81);
    // From the first upload of every backend until the last upload of the first backend.
    long[] tens = new long[40];
    for (int second = 100; second < 500; second++) {
      tens[second / 10 - 10] += bytesBySecond[second];
    }
    double average = Arrays.stream(tens).average().orElseThrow();
    long peak = Arrays.stream(tens).max().orElseThrow();
    assertThat(average)
        .isBetween(BACKENDS * 40.0 * MB / 10 * 0.95, BACKENDS * 40.0 * MB / 10 * 1.05);
    assertThat(peak / average).isLessThanOrEqualTo(1.5);
  }

  @Test
  void upload_sizesFiveTimesTheEstimate_endsInTime() {
    periodically(0, 5, 10 * MB, 50 * MB);
    assertThat(uploads).hasSize(5 * BACKENDS).allMatch(upload -> upload.took() <= 105);
  }

  @Test
  void upload_smallAfterWholeTables_isSlower() {
    Random random = new Random(2);
    for (int i = 0; i < BACKENDS; i++) {
      UploadPacer.Share share = share(INTERVAL, 0);
      long first = (long) (random.nextDouble() * INTERVAL.toNanos());
      process.spawn(
          "backend" + i,
          () -> {
            process.execution().sleep(Duration.ofNanos(first));
            once(share, 400 * MB);
            process.execution().sleep(INTERVAL);
            once(share, 20 * MB);
          });
    }
    simulation.run();
    long peakOfFirst = Arrays.stream(bytesBySecond, 0, 100).max().orElseThrow();
    long peakOfLater = Arrays.stream(bytesBySecond, 300, 2_000).max().orElseThrow();
    assertThat(peakOfFirst).isGreaterThan(20 * MB);
    assertThat(peakOfLater).isLessThanOrEqualTo(5 * MB);
  }

  private void once(UploadPacer.Share share, long bytes) {
    share.due();
    upload(share, bytes);
    share.end();
  }

  @Test
  void upload_capped_staysBelowTheCap() {
    periodically(2 * MB, 3, 40 * MB, 40 * MB);
    assertThat(Arrays.stream(bytesBySecond).max().orElseThrow()).isLessThanOrEqualTo(4 * MB);
    assertThat(Arrays.stream(bytesBySecond).sum()).isEqualTo(3 * BACKENDS * 40 * MB);
  }

  @Test
  void dueSoon_upload_isFast() {
    UploadPacer.Share share = share(INTERVAL, 0);
    process.spawn(
        "main",
        () -> {
          share.dueSoon();
          upload(share, 200 * MB);
        });
    simulation.run();
    assertThat(now()).isLessThanOrEqualTo(INTERVAL.toSeconds() * 0.02 * 6);
  }

  @Test
  void beginUrgent_pacedUploadRuns_isNotDelayed() {
    UploadPacer.Share share = share(Duration.ofHours(10), 0);
    UploadPacer.Share other = share(Duration.ofMinutes(1), 0);
    process.spawn(
        "paced",
        () -> {
          share.due();
          upload(share, 100 * MB);
          share.end();
        });
    process.spawn(
        "urgent",
        () -> {
          process.execution().sleep(Duration.ofSeconds(30));
          other.beginUrgent();
          process.execution().sleep(Duration.ofSeconds(1));
          other.endUrgent();
        });
    simulation.run();
    assertThat(now()).isLessThan(32);
  }

  /** Like jobs in one TaskManager. */
  @Test
  void upload_differentIntervals_endsInItsInterval() {
    Random random = new Random(3);
    List<Upload> slow = new ArrayList<>();
    for (int i = 0; i < BACKENDS; i++) {
      Duration interval = i % 2 == 0 ? INTERVAL : INTERVAL.multipliedBy(4);
      UploadPacer.Share share = share(interval, 0);
      List<Upload> own = i % 2 == 0 ? uploads : slow;
      long first = (long) (random.nextDouble() * interval.toNanos());
      process.spawn(
          "backend" + i,
          () -> {
            process.execution().sleep(Duration.ofNanos(first));
            for (int round = 0; round < 3; round++) {
              double due = now();
              once(share, 40 * MB);
              own.add(new Upload(due, now()));
              process
                  .execution()
                  .sleep(Duration.ofNanos((long) ((due + interval.toSeconds() - now()) * 1e9)));
            }
          });
    }
    simulation.run();
    assertThat(uploads).hasSize(12).allMatch(upload -> upload.took() <= 100);
    assertThat(slow).hasSize(12).allMatch(upload -> upload.took() <= 400);
    // After the first upload of each backend, no faster than all of them need.
    long even = 4 * 40 * MB / 80 + 4 * 40 * MB / 320;
    assertThat(Arrays.stream(bytesBySecond, 400, 2_000).max().orElseThrow())
        .isLessThanOrEqualTo(2 * even + MB);
  }

  @Test
  void upload_capOfAnotherJob_doesNotApply() {
    UploadPacer.Share capped = share(Duration.ZERO, 2 * MB);
    UploadPacer.Share free = share(Duration.ZERO, 0);
    double[] ends = new double[2];
    process.spawn(
        "capped",
        () -> {
          once(capped, 40 * MB);
          ends[0] = now();
        });
    process.spawn(
        "free",
        () -> {
          once(free, 40 * MB);
          ends[1] = now();
        });
    simulation.run();
    assertThat(ends[0]).isBetween(19.0, 21.0);
    assertThat(ends[1]).isLessThan(1);
  }

  @Test
  void upload_afterUnpacedUploads_isNotDelayed() {
    UploadPacer.Share spread = share(INTERVAL, 0);
    UploadPacer.Share notSpread = share(Duration.ZERO, 0);
    process.spawn(
        "main",
        () -> {
          once(notSpread, 10_000 * MB);
          spread.due();
          notSpread.beginUrgent();
          upload(spread, 10_000 * MB);
          notSpread.endUrgent();
          spread.end();
          double due = now();
          once(spread, 40 * MB);
          uploads.add(new Upload(due, now()));
        });
    simulation.run();
    assertThat(uploads).singleElement().satisfies(it -> assertThat(it.took()).isLessThan(101));
  }

  /** The changelog has grown long during the upload. */
  @Test
  void hurry_runningUpload_endsSoon() {
    UploadPacer.Share share = share(Duration.ofHours(1), 0);
    process.spawn("upload", () -> once(share, 100 * MB));
    process.spawn(
        "checkpoint",
        () -> {
          process.execution().sleep(Duration.ofSeconds(30));
          share.hurry();
        });
    simulation.run();
    assertThat(now()).isLessThanOrEqualTo(30 + Duration.ofHours(1).toSeconds() * 0.02 * 6);
  }

  /** The uploads of its job are not paced, and must not wait behind paced ones. */
  @Test
  void due_unpacedUpload_doesNotWaitForPacedOnes() {
    UploadPacer.Share spread = share(Duration.ofHours(10), 0);
    UploadPacer.Share notSpread = share(Duration.ZERO, 0);
    process.spawn("spread", () -> once(spread, 100 * MB));
    process.spawn(
        "not spread",
        () -> {
          process.execution().sleep(Duration.ofSeconds(30));
          notSpread.due();
        });
    simulation.run();
    assertThat(now()).isLessThan(32);
  }

  @Test
  void upload_small_doesNotWait() {
    UploadPacer.Share share = share(INTERVAL, 0);
    process.spawn(
        "main",
        () -> {
          for (int i = 0; i < 10; i++) {
            share.due();
            upload(share, 20_000);
            share.end();
          }
        });
    simulation.run();
    assertThat(now()).isLessThan(0.001);
  }

  @Test
  void close_waitingUpload_failsIt() {
    UploadPacer.Share share = share(Duration.ofHours(10), 0);
    List<Kind> ends = new ArrayList<>();
    process.spawn(
        "upload",
        () -> {
          share.due();
          try {
            upload(share, 100 * MB);
          } catch (StateBackendException e) {
            ends.add(e.kind());
          }
        });
    process.spawn(
        "closer",
        () -> {
          process.execution().sleep(Duration.ofSeconds(30));
          share.close();
        });
    simulation.run();
    assertThat(ends).containsExactly(Kind.CLOSED);
    assertThat(now()).isLessThan(31);
  }

  /** With one at a time to send a piece, the others need not look whether they may. */
  @ParameterizedTest
  @ValueSource(ints = {1, 4, 64})
  void waitingUploads_wakeAsOftenAsPiecesAreSent_howeverManyWait(int backends) {
    AtomicLong waits = new AtomicLong();
    UploadPacer counted = new UploadPacer(counting(waits));
    int files = 4;
    int pieces = 512;
    long total = pieces * PIECE;
    for (int i = 0; i < backends; i++) {
      UploadPacer.Share share = counted.share(new UploadPacer.Settings(INTERVAL, 0));
      share.due();
      Pace pace = share.begin(total / backends);
      for (int file = 0; file < files; file++) {
        process.spawn(
            "backend" + i + "-" + file,
            () -> {
              for (int piece = 0; piece < pieces / backends / files; piece++) {
                pace.await(PIECE);
              }
            });
      }
    }
    simulation.run();
    assertThat(now()).isBetween(60.0, 105.0);
    assertThat(waits.get()).isBetween((long) pieces / 2, 3L * pieces);
  }

  /** The execution of the process, which counts how often a thread waits. */
  private Execution counting(AtomicLong waits) {
    return (Execution)
        Proxy.newProxyInstance(
            PacingTest.class.getClassLoader(),
            new Class<?>[] {Execution.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("await")) {
                waits.incrementAndGet();
              }
              try {
                return method.invoke(process.execution(), arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  /** The first of those that wait leaves without a piece sent. */
  @Test
  void close_ofTheFirstThatWaits_leavesTheOthersAtTheirPace() {
    UploadPacer.Share first = share(INTERVAL, 0);
    UploadPacer.Share second = share(INTERVAL, 0);
    List<Kind> ends = new ArrayList<>();
    process.spawn(
        "first",
        () -> {
          try {
            once(first, 40 * MB);
          } catch (StateBackendException e) {
            ends.add(e.kind());
          }
        });
    process.spawn("second", () -> once(second, 40 * MB));
    process.spawn(
        "closer",
        () -> {
          process.execution().sleep(Duration.ofSeconds(30));
          first.close();
        });
    simulation.run();
    assertThat(ends).containsExactly(Kind.CLOSED);
    assertThat(now()).isBetween(60.0, 105.0);
  }
}
