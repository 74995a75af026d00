package io.alluvium.testkit.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One client connection with its connection to the server; handles one request at a time. Confined
 * to the event loop of both.
 */
final class FaultyExchange extends SimpleChannelInboundHandler<FullHttpRequest> {

  private final FaultProxy proxy;
  private @Nullable Channel client;
  private @Nullable Channel server;
  private FaultDecision decision = FaultDecision.NONE;

  /** Whether a request was accepted for forwarding and its answer has not arrived. */
  private boolean pending;

  FaultyExchange(FaultProxy proxy) {
    this.proxy = proxy;
  }

  /** Closes a connection so that the other side sees a reset. */
  static void reset(Channel channel) {
    try {
      var unused = channel.config().setOption(ChannelOption.SO_LINGER, 0);
    } catch (ChannelException e) {
      // The other side has already closed the connection.
    }
    var unusedClose = channel.close();
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    client = context.channel();
    if (proxy.isOutage()) {
      reset(context.channel());
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    client = null;
    if (!pending) {
      closeServer();
    }
  }

  private void closeServer() {
    if (server != null) {
      var unused = server.close();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    reset(context.channel());
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
    Channel from = context.channel();
    if (proxy.isOutage()) {
      reset(from);
      return;
    }
    decision = proxy.decide(request.method().name(), request.uri());
    if (decision instanceof FaultDecision.Lost) {
      reset(from);
    } else if (decision instanceof FaultDecision.Refused refused) {
      refuse(from, refused);
    } else if (!(decision instanceof FaultDecision.Unanswered)) {
      FullHttpRequest kept = request.retain();
      pending = true;
      Duration delay =
          decision instanceof FaultDecision.Delayed delayed ? delayed.by() : Duration.ZERO;
      later(from, delay, () -> forward(from, kept));
    }
  }

  private static void later(Channel channel, Duration delay, Runnable action) {
    if (delay.isZero()) {
      action.run();
    } else {
      var unused = channel.eventLoop().schedule(action, delay.toNanos(), TimeUnit.NANOSECONDS);
    }
  }

  private static void refuse(Channel client, FaultDecision.Refused refused) {
    String body =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>"
            + refused.code()
            + "</Code><Message>refused by the proxy</Message></Error>";
    FullHttpResponse answer =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1,
            HttpResponseStatus.valueOf(refused.status()),
            Unpooled.copiedBuffer(body, UTF_8));
    answer.headers().set(HttpHeaderNames.CONTENT_TYPE, "application/xml");
    HttpUtil.setContentLength(answer, answer.content().readableBytes());
    var unused = client.writeAndFlush(answer);
  }

  /** Forwards even if the client has disconnected: a sent request cannot be recalled. */
  private void forward(Channel from, FullHttpRequest request) {
    Channel open = server;
    if (proxy.isOutage()) {
      request.release();
      pending = false;
      return;
    }
    if (open != null && open.isActive()) {
      var unused = open.writeAndFlush(request);
      return;
    }
    ChannelFuture connecting = proxy.toServer(from, this).connect();
    var unused =
        connecting.addListener(
            (ChannelFutureListener)
                done -> {
                  if (done.isSuccess()) {
                    server = done.channel();
                    var unusedWrite = done.channel().writeAndFlush(request);
                  } else {
                    request.release();
                    pending = false;
                    reset(from);
                  }
                });
  }

  private void answer(FullHttpResponse answer) {
    Channel to = client;
    pending = false;
    if (to == null) {
      answer.release();
      closeServer();
    } else if (decision instanceof FaultDecision.AnswerLost) {
      answer.release();
      reset(to);
    } else {
      Duration delay =
          decision instanceof FaultDecision.AnsweredLate late ? late.by() : Duration.ZERO;
      later(
          to,
          delay,
          () -> {
            ChannelFuture written = to.writeAndFlush(answer);
            if (!HttpUtil.isKeepAlive(answer)) {
              var unused = written.addListener(ChannelFutureListener.CLOSE);
            }
          });
    }
  }

  /** Handles the answers of the server. */
  final class Answers extends SimpleChannelInboundHandler<FullHttpResponse> {

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpResponse answer) {
      answer(answer.retain());
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      server = null;
      Channel waiting = client;
      if (pending && waiting != null) {
        reset(waiting);
      }
      pending = false;
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      var unused = context.close();
    }
  }
}
