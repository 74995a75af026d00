package io.alluvium.blobstore.s3;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Pace;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import software.amazon.awssdk.services.s3.model.ChecksumAlgorithm;
import software.amazon.awssdk.services.s3.model.CompletedPart;
import software.amazon.awssdk.services.s3.model.CreateMultipartUploadRequest;
import software.amazon.awssdk.services.s3.model.UploadPartRequest;
import software.amazon.awssdk.services.s3.model.UploadPartResponse;

/** Stores one big file in parts, several at the same time. Confined to one thread. */
final class PartsUpload {

  /*
   * A part is read into memory, checksummed there, and sent with its checksum: what the store accepts is what was read,
   * however often a part is attempted. `permits` bound the parts in memory over all uploads of the store. After any
   * failure the upload is aborted, so that no parts stay behind that are paid for and seen by nobody; what a crash or a
   * lost abort leaves, BlobStore.deleteLeftovers finds.
   */

  private static final int MAX_PARTS = 10_000;

  private final S3Connection connection;
  private final Semaphore permits;
  private final String name;
  private final Path file;
  private final long size;

  private record Sent(
      int number, int bytes, String checksum, CompletableFuture<UploadPartResponse> answer) {}

  PartsUpload(S3Connection connection, Semaphore permits, String name, Path file, long sizeBytes) {
    this.connection = connection;
    this.permits = permits;
    this.name = name;
    this.file = file;
    this.size = sizeBytes;
  }

  /**
   * Stores it.
   *
   * @param pace asked before each part
   */
  void run(Pace pace) {
    String id =
        connection
            .await(connection.repeating().createMultipartUpload(creation().build()), doing())
            .uploadId();
    try {
      complete(id, sendParts(id, pace));
    } catch (RuntimeException | Error e) {
      abort(id, e);
      throw e;
    }
  }

  private String doing() {
    return "store blob '" + name + "'";
  }

  private String bucket() {
    return connection.settings().location().bucket();
  }

  private String key() {
    return connection.settings().location().keyOf(name);
  }

  private CreateMultipartUploadRequest.Builder creation() {
    CreateMultipartUploadRequest.Builder builder =
        CreateMultipartUploadRequest.builder()
            .bucket(bucket())
            .key(key())
            .checksumAlgorithm(ChecksumAlgorithm.CRC32_C);
    S3Encryption.of(connection.settings()).ifPresent(builder::serverSideEncryption);
    connection.settings().encryption().kmsKeyId().ifPresent(builder::ssekmsKeyId);
    return builder;
  }

  private List<CompletedPart> sendParts(String id, Pace pace) {
    long partBytes =
        Math.max(connection.settings().multipart().partBytes(), (size + MAX_PARTS - 1) / MAX_PARTS);
    List<Sent> parts = new ArrayList<>();
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      for (long offset = 0; offset < size; offset += partBytes) {
        pace.await(Math.min(partBytes, size - offset));
        acquire();
        boolean sent = false;
        try {
          throwFirstFailure(parts);
          byte[] bytes =
              Bodies.read(channel, offset, Math.toIntExact(Math.min(partBytes, size - offset)));
          parts.add(send(id, parts.size() + 1, bytes));
          sent = true;
        } finally {
          if (!sent) {
            permits.release();
          }
        }
      }
      return parts.stream().map(this::await).toList();
    } catch (IOException e) {
      cancel(parts);
      throw StateBackendException.of(
          Kind.INVALID, "cannot " + doing() + ": local file '" + file + "' is not readable", e);
    } catch (RuntimeException | Error e) {
      // Parts are what memory runs out for.
      cancel(parts);
      throw e;
    }
  }

  private void acquire() {
    try {
      permits.acquire();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw StateBackendException.unavailable("cannot " + doing() + ": interrupted", e);
    }
  }

  /** Waits for no part that is still on its way. */
  private void throwFirstFailure(List<Sent> parts) {
    for (Sent part : parts) {
      if (part.answer.isCompletedExceptionally()) {
        CompletedPart unused = await(part);
      }
    }
  }

  /** Takes over one permit. */
  private Sent send(String id, int number, byte[] bytes) {
    String checksum = Checksums.of(bytes);
    UploadPartRequest request =
        UploadPartRequest.builder()
            .bucket(bucket())
            .key(key())
            .uploadId(id)
            .partNumber(number)
            .contentLength((long) bytes.length)
            .checksumCRC32C(checksum)
            .overrideConfiguration(connection.patience(bytes.length))
            .build();
    // Nobody awaits it before all parts are sent, and those wait for its permit.
    CompletableFuture<UploadPartResponse> answer =
        connection.bounded(
            connection.repeating().uploadPart(request, Bodies.of(bytes)), bytes.length);
    var unused = answer.whenComplete((done, failure) -> permits.release());
    return new Sent(number, bytes.length, checksum, answer);
  }

  private CompletedPart await(Sent part) {
    UploadPartResponse answer = connection.await(part.answer, part.bytes, doing());
    return CompletedPart.builder()
        .partNumber(part.number)
        .eTag(answer.eTag())
        .checksumCRC32C(part.checksum)
        .build();
  }

  private static void cancel(List<Sent> parts) {
    parts.forEach(part -> part.answer.cancel(true));
  }

  private void complete(String id, List<CompletedPart> parts) {
    try {
      var unused =
          connection.awaitRaw(
              connection
                  .repeating()
                  .completeMultipartUpload(
                      request ->
                          request
                              .bucket(bucket())
                              .key(key())
                              .uploadId(id)
                              .multipartUpload(upload -> upload.parts(parts))),
              doing());
    } catch (RequestFailed e) {
      // An attempt whose answer got lost has completed the upload already; the next one finds none.
      if (!e.hasCode("NoSuchUpload") || !isStored()) {
        throw connection.failure(e, doing());
      }
    }
  }

  private boolean isStored() {
    try {
      return connection
              .awaitRaw(
                  connection.repeating().headObject(head -> head.bucket(bucket()).key(key())),
                  doing())
              .contentLength()
          == size;
    } catch (RequestFailed e) {
      return false;
    }
  }

  private void abort(String id, Throwable failure) {
    boolean interrupted = Thread.interrupted();
    try {
      var unused =
          connection.await(
              connection
                  .repeating()
                  .abortMultipartUpload(
                      request -> request.bucket(bucket()).key(key()).uploadId(id)),
              "abort the upload of blob '" + name + "'");
    } catch (RuntimeException e) {
      failure.addSuppressed(e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
