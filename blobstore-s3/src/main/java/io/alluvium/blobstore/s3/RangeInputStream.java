package io.alluvium.blobstore.s3;

import io.alluvium.StateBackendException;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.core.ResponseBytes;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.services.s3.model.ChecksumMode;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/**
 * A range of a blob, fetched piece by piece, one piece ahead of the reader once it has passed the
 * first. Confined to one thread at a time.
 */
final class RangeInputStream extends InputStream {

  /*
   * A streaming response would hold a connection for as long as the reader takes, and a reader that waits for memory
   * takes long enough to run into the timeouts of both sides. Pieces are whole in memory, under the timeouts and attempts
   * of any other request, and verified before the first byte is given out: their length always, their checksum where the
   * store sends one (S3 sends none for a part of an object; the formats above have their own). The price is one more
   * request per 4 MB.
   */

  static final int PIECE_BYTES = 4 << 20;

  private record Piece(byte[] bytes, boolean last) {}

  private final S3Connection connection;
  private final String name;
  private long fetchAt;
  private final long end;
  private Piece piece = new Piece(new byte[0], true);
  private int position;
  private @Nullable CompletableFuture<Piece> next;

  private @Nullable StateBackendException failure;

  private RangeInputStream(S3Connection connection, String name, long offset, long length) {
    this.connection = connection;
    this.name = name;
    this.fetchAt = offset;
    this.end = Math.min(Long.MAX_VALUE - PIECE_BYTES, offset + length);
  }

  /**
   * Fetches the first piece.
   *
   * @param length at least 1
   */
  static InputStream open(S3Connection connection, String name, long offset, long length) {
    long bounded = Math.min(length, Long.MAX_VALUE - offset);
    RangeInputStream stream = new RangeInputStream(connection, name, offset, bounded);
    stream.piece = connection.await(stream.fetch(), stream.doing());
    return stream;
  }

  private String doing() {
    return "read blob '" + name + "'";
  }

  private CompletableFuture<Piece> fetch() {
    long from = fetchAt;
    int count = (int) Math.min(PIECE_BYTES, end - from);
    fetchAt = from + count;
    GetObjectRequest request =
        GetObjectRequest.builder()
            .bucket(connection.settings().location().bucket())
            .key(connection.settings().location().keyOf(name))
            .range("bytes=" + from + "-" + (from + count - 1))
            .checksumMode(ChecksumMode.ENABLED)
            .build();
    CompletableFuture<ResponseBytes<GetObjectResponse>> sent =
        connection.repeating().getObject(request, AsyncResponseTransformer.toBytes());
    CompletableFuture<Piece> piece =
        sent.handle(
            (answer, failure) ->
                failure == null ? verified(answer, from, count) : missing(failure));
    // Cancelling what depends on a request does not cancel the request.
    var unused =
        piece.whenComplete(
            (done, failure) -> {
              if (piece.isCancelled()) {
                sent.cancel(true);
              }
            });
    return piece;
  }

  /** Refuses an answer that is not the range asked for, cut at the end of the blob. */
  private Piece verified(ResponseBytes<GetObjectResponse> answer, long from, int count) {
    byte[] bytes = answer.asByteArrayUnsafe();
    @Nullable String range = answer.response().contentRange();
    long size = range == null ? bytes.length : sizeIn(range);
    boolean asked = range == null ? from == 0 : range.startsWith("bytes " + from + "-");
    long expected = Math.min(count, Math.max(0, size - from));
    if (!asked || size < 0 || bytes.length != expected) {
      throw StateBackendException.unavailable(
          "cannot "
              + doing()
              + " in '"
              + connection.settings().location().uri()
              + "': asked for "
              + count
              + " bytes from "
              + from
              + ", the store sent "
              + bytes.length
              + " of the range '"
              + range
              + "'; try again",
          new IOException("wrong length"));
    }
    return new Piece(bytes, from + bytes.length >= Math.min(size, end));
  }

  /** The number behind the slash of {@code bytes 0-9/100}, or -1. */
  private static long sizeIn(String range) {
    String size = range.substring(range.indexOf('/') + 1);
    return size.matches("\\d{1,18}") ? Long.parseLong(size) : -1;
  }

  private Piece missing(Throwable failure) {
    RequestFailed failed = new RequestFailed(S3Errors.unwrap(failure));
    if (failed.status() == 416) {
      return new Piece(new byte[0], true);
    }
    if (failed.status() == 404 && !failed.hasCode("NoSuchBucket")) {
      throw StateBackendException.corrupt(name, 0, "the blob", "nothing of that name");
    }
    throw connection.failure(failed, doing());
  }

  @Override
  public int read() throws IOException {
    return advance() ? piece.bytes[position++] & 0xff : -1;
  }

  @Override
  public int read(byte[] target, int offset, int count) throws IOException {
    if (count == 0) {
      return 0;
    }
    if (!advance()) {
      return -1;
    }
    int got = Math.min(count, piece.bytes.length - position);
    System.arraycopy(piece.bytes, position, target, offset, got);
    position += got;
    return got;
  }

  @Override
  public int available() {
    return piece.bytes.length - position;
  }

  /** Makes sure that a byte is there; false at the end. */
  private boolean advance() throws IOException {
    while (position == piece.bytes.length) {
      if (failure != null) {
        // What comes behind the piece that failed must not be taken for it.
        throw new IOException(failure.getMessage(), failure);
      }
      if (piece.last) {
        return false;
      }
      try {
        CompletableFuture<Piece> arriving = next == null ? fetch() : next;
        next = null;
        piece = connection.await(arriving, doing());
        position = 0;
        if (!piece.last && fetchAt < end) {
          next = fetch();
        }
      } catch (StateBackendException e) {
        failure = e;
      }
    }
    return true;
  }

  @Override
  public void close() {
    piece = new Piece(new byte[0], true);
    position = 0;
    CompletableFuture<Piece> unread = next;
    next = null;
    if (unread != null) {
      unread.cancel(true);
    }
  }
}
