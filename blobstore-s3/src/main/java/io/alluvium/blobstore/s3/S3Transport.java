package io.alluvium.blobstore.s3;

import io.alluvium.blobstore.s3.S3Settings.Limits;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.SdkEventLoopGroup;

/** The connections and threads that the SDK's clients of a store share. Thread-safe; owns them. */
final class S3Transport implements AutoCloseable {

  /*
   * The threads are ours because the SDK waits for a quiet period of two seconds when it shuts its own down, which every
   * command that has read from a store would feel at its end. There must be such a period, since one thread closes its
   * connections with the help of another; but nobody needs to wait for it. All threads are daemons.
   */

  private final SdkEventLoopGroup loops;
  private final SdkAsyncHttpClient http;
  private final ScheduledExecutorService timer;

  private S3Transport(
      SdkEventLoopGroup loops, SdkAsyncHttpClient http, ScheduledExecutorService timer) {
    this.loops = loops;
    this.http = http;
    this.timer = timer;
  }

  static S3Transport open(Limits limits) {
    SdkEventLoopGroup loops =
        SdkEventLoopGroup.builder()
            .numberOfThreads(Math.max(2, Runtime.getRuntime().availableProcessors()))
            .threadFactory(daemons("alluvium-s3-io-"))
            .build();
    SdkAsyncHttpClient http =
        NettyNioAsyncHttpClient.builder()
            .eventLoopGroup(loops)
            .maxConcurrency(limits.connections())
            .maxPendingConnectionAcquires(Integer.MAX_VALUE)
            .connectionAcquisitionTimeout(limits.totalTimeout())
            .connectionTimeout(limits.connectTimeout())
            .readTimeout(limits.attemptTimeout())
            .writeTimeout(limits.attemptTimeout())
            .tcpKeepAlive(true)
            .build();
    return new S3Transport(
        loops, http, Executors.newSingleThreadScheduledExecutor(daemons("alluvium-s3-timer-")));
  }

  private static ThreadFactory daemons(String prefix) {
    AtomicInteger count = new AtomicInteger();
    return task -> {
      Thread thread = new Thread(task, prefix + count.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }

  SdkAsyncHttpClient http() {
    return http;
  }

  /** For timeouts and for pauses between attempts. */
  ScheduledExecutorService timer() {
    return timer;
  }

  @Override
  public void close() {
    try {
      http.close();
    } finally {
      var unused = timer.shutdownNow();
      var unusedEnd = loops.eventLoopGroup().shutdownGracefully(1, 5, TimeUnit.SECONDS);
    }
  }
}
