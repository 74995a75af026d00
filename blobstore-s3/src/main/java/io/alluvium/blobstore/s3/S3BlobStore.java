package io.alluvium.blobstore.s3;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.Pace;
import io.alluvium.spi.RemoteBlobStore;
import io.alluvium.spi.RequestListener;
import io.alluvium.spi.StoreNames;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Request;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Response;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.PutObjectResponse;
import software.amazon.awssdk.services.s3.model.S3Object;

/**
 * Blobs as objects below a prefix of a bucket. Thread-safe; several processes may use the same
 * prefix.
 */
final class S3BlobStore implements RemoteBlobStore {

  /*
   * Every put carries the CRC32C of its bytes, computed before the request is made. A request that was given up may go on
   * sending from buffers that meanwhile hold something else; the store then refuses what it gets, instead of storing it
   * under the checksum of the wrong bytes.
   *
   * A put that is given up closes its connection, so that the store gets either all of it or not enough.
   *
   * An object becomes visible as a whole, so that a put needs no second step. A conditional put is attempted once; that
   * it lost the race against another one that was still running (409) is an outcome, after which it is made again.
   */

  /** Conditional puts that ran into each other are made again this often. */
  private static final int CONFLICT_ATTEMPTS = 5;

  private final S3Connection connection;
  private final S3Location location;
  private final Semaphore partPermits;
  private final Deletion deletion;

  private S3BlobStore(S3Connection connection) {
    this.connection = connection;
    this.location = connection.settings().location();
    this.partPermits = new Semaphore(connection.settings().multipart().parallelism());
    this.deletion = new Deletion(connection);
  }

  static S3BlobStore open(S3Settings settings) {
    return new S3BlobStore(S3Connection.open(settings));
  }

  @Override
  public void put(String name, List<ByteBuffer> content, CompletableFuture<?> givenUp) {
    check(name);
    long size = content.stream().mapToLong(ByteBuffer::remaining).sum();
    PutObjectRequest request = request(name, size, Checksums.of(content)).build();
    CompletableFuture<PutObjectResponse> answer =
        connection.repeating().putObject(request, Bodies.of(content));
    var unused = connection.await(until(givenUp, answer), size, storing(name));
  }

  private static <T> CompletableFuture<T> until(
      CompletableFuture<?> givenUp, CompletableFuture<T> request) {
    var unused = givenUp.thenRun(() -> request.cancel(true));
    return request;
  }

  private static String storing(String name) {
    return "store blob '" + name + "'";
  }

  private PutObjectRequest.Builder request(String name, long size, String checksum) {
    PutObjectRequest.Builder builder =
        PutObjectRequest.builder()
            .bucket(location.bucket())
            .key(location.keyOf(name))
            .contentLength(size)
            .checksumCRC32C(checksum)
            .overrideConfiguration(connection.patience(size));
    S3Encryption.of(connection.settings()).ifPresent(builder::serverSideEncryption);
    connection.settings().encryption().kmsKeyId().ifPresent(builder::ssekmsKeyId);
    return builder;
  }

  @Override
  public void putFile(String name, Path file) {
    putFile(name, file, Pace.NONE);
  }

  @Override
  public void putFile(String name, Path file, Pace pace) {
    check(name);
    try {
      long size = Files.size(file);
      if (size >= connection.settings().multipart().thresholdBytes()) {
        new PartsUpload(connection, partPermits, name, file, size).run(pace);
      } else {
        pace.await(size);
        put(name, List.of(ByteBuffer.wrap(read(file, size))));
      }
    } catch (IOException e) {
      throw StateBackendException.of(
          Kind.INVALID,
          "cannot " + storing(name) + ": local file '" + file + "' is not readable",
          e);
    }
  }

  private static byte[] read(Path file, long size) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      return Bodies.read(channel, 0, Math.toIntExact(size));
    }
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content, CompletableFuture<?> givenUp) {
    check(name);
    byte[] bytes = content.clone();
    PutObjectRequest request =
        request(name, bytes.length, Checksums.of(bytes)).ifNoneMatch("*").build();
    for (int attempt = 1; ; attempt++) {
      try {
        var unused =
            connection.awaitRaw(
                until(givenUp, connection.once().putObject(request, Bodies.of(bytes))),
                bytes.length,
                storing(name));
        return true;
      } catch (RequestFailed e) {
        if (e.status() == 412) {
          return false;
        }
        if (e.status() == 501) {
          throw connection.errors().noConditionalPut(e.failure());
        }
        if (e.status() != 409 || attempt == CONFLICT_ATTEMPTS) {
          throw connection.failure(e, storing(name));
        }
      }
    }
  }

  @Override
  public OptionalLong size(String name) {
    check(name);
    String doing = "look up blob '" + name + "'";
    try {
      HeadObjectResponse answer =
          connection.awaitRaw(
              connection
                  .repeating()
                  .headObject(head -> head.bucket(location.bucket()).key(location.keyOf(name))),
              doing);
      return OptionalLong.of(answer.contentLength());
    } catch (RequestFailed e) {
      if (e.status() == 404) {
        return OptionalLong.empty();
      }
      throw connection.failure(e, doing);
    }
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    check(name);
    if (offset < 0 || length < 0) {
      throw StateBackendException.invalid(
          "cannot read " + length + " bytes from " + offset + " of blob '" + name + "'");
    }
    if (length > 0) {
      return RangeInputStream.open(connection, name, offset, length);
    }
    // There is no such range in HTTP, yet a missing blob must show.
    if (size(name).isEmpty()) {
      throw StateBackendException.corrupt(name, 0, "the blob", "nothing of that name");
    }
    return InputStream.nullInputStream();
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    connection.checkOpen();
    List<BlobInfo> found = new ArrayList<>();
    @Nullable String continuation = null;
    do {
      ListObjectsV2Request request =
          ListObjectsV2Request.builder()
              .bucket(location.bucket())
              .prefix(location.keyOf(prefix))
              .continuationToken(continuation)
              .build();
      ListObjectsV2Response page =
          connection.await(connection.repeating().listObjectsV2(request), "list blobs");
      page.contents().forEach(object -> add(object, found));
      continuation = Boolean.TRUE.equals(page.isTruncated()) ? page.nextContinuationToken() : null;
    } while (continuation != null);
    return found;
  }

  /** Keys that cannot be blobs, for example the folders that consoles make, are passed over. */
  private void add(S3Object object, List<BlobInfo> found) {
    String name = location.nameOf(object.key());
    if (StoreNames.isValid(name)) {
      found.add(new BlobInfo(name, object.size(), object.lastModified()));
    }
  }

  @Override
  public void delete(Collection<String> names) {
    connection.checkOpen();
    names.forEach(StoreNames::check);
    deletion.delete(names);
  }

  @Override
  public void deleteLeftovers(Duration olderThan) {
    connection.checkOpen();
    deletion.abortUploads(olderThan);
  }

  @Override
  public void listen(RequestListener listener) {
    connection.listen(listener);
  }

  @Override
  public String uri() {
    return location.uri();
  }

  @Override
  public void close() {
    connection.close();
  }

  private void check(String name) {
    connection.checkOpen();
    StoreNames.check(name);
  }
}
