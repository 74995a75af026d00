package io.alluvium.testkit.s3;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A proxy of an S3 server that injects faults: latency, late and lost answers, refusals, reset
 * connections, outages. Host, headers and bodies are not changed, so that signatures stay valid.
 * Thread-safe.
 */
public final class FaultProxy implements AutoCloseable {

  /*
   * Each client connection has its own connection to the server. Both belong to one event loop, so that an exchange
   * needs no lock. Requests and answers are forwarded as a whole; a decision applies to the whole message.
   */

  private static final int MAX_BYTES = 64 << 20;

  private final URI server;
  private final NioEventLoopGroup loops =
      new NioEventLoopGroup(2, new DefaultThreadFactory("fault-proxy", true));
  private final ChannelGroup clients = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private final AtomicInteger requests = new AtomicInteger();
  private final Map<String, Integer> byMethod = new TreeMap<>();
  private final Channel listener;
  private volatile FaultPolicy policy = FaultPolicy.NONE;
  private volatile boolean outage;

  private FaultProxy(URI server) {
    this.server = server;
    this.listener =
        new ServerBootstrap()
            .group(loops)
            .channel(NioServerSocketChannel.class)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(
                new ChannelInitializer<SocketChannel>() {
                  @Override
                  protected void initChannel(SocketChannel channel) {
                    clients.add(channel);
                    channel
                        .pipeline()
                        .addLast(
                            new HttpServerCodec(),
                            new HttpObjectAggregator(MAX_BYTES),
                            new FaultyExchange(FaultProxy.this));
                  }
                })
            .bind(InetAddress.getLoopbackAddress(), 0)
            .syncUninterruptibly()
            .channel();
  }

  /** Starts a proxy on a free port. */
  public static FaultProxy before(URI server) {
    return new FaultProxy(server);
  }

  /** The address of the proxy, for clients. */
  public URI endpoint() {
    return URI.create(
        "http://127.0.0.1:" + ((InetSocketAddress) listener.localAddress()).getPort());
  }

  /** Sets the policy for later requests. */
  public void policy(FaultPolicy newPolicy) {
    policy = newPolicy;
  }

  /** Starts an outage: existing and new connections are reset. */
  public void startOutage() {
    outage = true;
    clients.forEach(FaultyExchange::reset);
  }

  /** Ends the outage. */
  public void endOutage() {
    outage = false;
  }

  /** Number of requests received, including those that were not forwarded. */
  public int requests() {
    return requests.get();
  }

  /** Number of requests received, by method. */
  public Map<String, Integer> requestsByMethod() {
    synchronized (byMethod) {
      return new TreeMap<>(byMethod);
    }
  }

  boolean isOutage() {
    return outage;
  }

  FaultDecision decide(String method, String target) {
    synchronized (byMethod) {
      byMethod.merge(method, 1, Integer::sum);
    }
    return policy.decide(new FaultPolicy.Request(requests.getAndIncrement(), method, target));
  }

  /** A bootstrap for the server connection of a client connection, in the same event loop. */
  Bootstrap toServer(Channel client, FaultyExchange exchange) {
    return new Bootstrap()
        .group(client.eventLoop())
        .channel(NioSocketChannel.class)
        .option(ChannelOption.TCP_NODELAY, true)
        .remoteAddress(server.getHost(), server.getPort())
        .handler(
            new ChannelInitializer<SocketChannel>() {
              @Override
              protected void initChannel(SocketChannel channel) {
                channel
                    .pipeline()
                    .addLast(
                        new HttpClientCodec(),
                        new HttpObjectAggregator(MAX_BYTES),
                        exchange.new Answers());
              }
            });
  }

  @Override
  public void close() {
    startOutage();
    var unused = listener.close().syncUninterruptibly();
    var unusedEnd = loops.shutdownGracefully(0, 5, TimeUnit.SECONDS);
  }
}
