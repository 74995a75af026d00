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
 * Stands before an S3 server and lets requests suffer: latency, late and lost answers, refusals,
 * reset connections, an outage. Host, headers and bodies stay as they are, so that signatures hold.
 * Thread-safe.
 */
public final class FaultProxy implements AutoCloseable {

  /*
   * Each connection of a client has one of its own to the server, and both belong to one event loop, so that what
   * happens to a request needs no lock. Requests and answers pass as a whole: a fate concerns all of it or nothing.
   */

  private static final int MAX_BYTES = 64 << 20;

  private final URI server;
  private final NioEventLoopGroup loops =
      new NioEventLoopGroup(2, new DefaultThreadFactory("fault-proxy", true));
  private final ChannelGroup clients = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private final AtomicInteger requests = new AtomicInteger();
  private final Map<String, Integer> byMethod = new TreeMap<>();
  private final Channel listener;
  private volatile Weather weather = Weather.CLEAR;
  private volatile boolean cut;

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

  /** Where clients go instead of to the server. */
  public URI endpoint() {
    return URI.create(
        "http://127.0.0.1:" + ((InetSocketAddress) listener.localAddress()).getPort());
  }

  /** What happens to requests from now on. */
  public void weather(Weather now) {
    weather = now;
  }

  /** Begins an outage: every connection is reset, those that are there and those that come. */
  public void cut() {
    cut = true;
    clients.forEach(FaultyExchange::reset);
  }

  /** Ends the outage. */
  public void mend() {
    cut = false;
  }

  /** How many requests came, those included that went no further. */
  public int requests() {
    return requests.get();
  }

  /** How many requests came, by method. */
  public Map<String, Integer> requestsByMethod() {
    synchronized (byMethod) {
      return new TreeMap<>(byMethod);
    }
  }

  boolean isCut() {
    return cut;
  }

  Fate fateOf(String method, String target) {
    synchronized (byMethod) {
      byMethod.merge(method, 1, Integer::sum);
    }
    return weather.fateOf(new Weather.Request(requests.getAndIncrement(), method, target));
  }

  /** A connection to the server for one of a client, in the same event loop. */
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
    cut();
    var unused = listener.close().syncUninterruptibly();
    var unusedEnd = loops.shutdownGracefully(0, 5, TimeUnit.SECONDS);
  }
}
