package io.alluvium.blobstore.s3;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.services.s3.model.ChecksumAlgorithm;
import software.amazon.awssdk.services.s3.model.DeleteObjectsRequest;
import software.amazon.awssdk.services.s3.model.DeleteObjectsResponse;
import software.amazon.awssdk.services.s3.model.ListMultipartUploadsRequest;
import software.amazon.awssdk.services.s3.model.ListMultipartUploadsResponse;
import software.amazon.awssdk.services.s3.model.MultipartUpload;
import software.amazon.awssdk.services.s3.model.ObjectIdentifier;
import software.amazon.awssdk.services.s3.model.S3Error;

/** Removes objects and unfinished uploads. Thread-safe. */
final class Deletion {

  /** As many as the protocol allows in one request. */
  private static final int BATCH = 1_000;

  private final S3Connection connection;
  private final S3Location location;

  Deletion(S3Connection connection) {
    this.connection = connection;
    this.location = connection.settings().location();
  }

  /** Tries all names, then reports what failed. */
  void delete(Collection<String> names) {
    List<String> all = List.copyOf(names);
    List<S3Error> failed = new ArrayList<>();
    for (int from = 0; from < all.size(); from += BATCH) {
      deleteBatch(all.subList(from, Math.min(all.size(), from + BATCH)), failed);
    }
    if (!failed.isEmpty()) {
      S3Error first = failed.get(0);
      throw StateBackendException.of(
          "AccessDenied".equals(first.code()) ? Kind.INVALID : Kind.UNAVAILABLE,
          "cannot delete "
              + failed.size()
              + " of "
              + all.size()
              + " blobs in '"
              + location.uri()
              + "', the first of them key '"
              + first.key()
              + "': "
              + first.code()
              + ", "
              + first.message()
              + ("AccessDenied".equals(first.code())
                  ? "; allow these credentials s3:DeleteObject"
                  : "; try again"));
    }
  }

  private void deleteBatch(List<String> names, List<S3Error> failed) {
    List<ObjectIdentifier> keys =
        names.stream()
            .map(name -> ObjectIdentifier.builder().key(location.keyOf(name)).build())
            .toList();
    DeleteObjectsRequest request =
        DeleteObjectsRequest.builder()
            .bucket(location.bucket())
            .checksumAlgorithm(ChecksumAlgorithm.CRC32_C)
            .delete(delete -> delete.objects(keys).quiet(true))
            .build();
    DeleteObjectsResponse answer =
        connection.await(
            connection.repeating().deleteObjects(request), "delete " + names.size() + " blobs");
    answer.errors().stream()
        .filter(error -> !"NoSuchKey".equals(error.code()))
        .forEach(failed::add);
  }

  /** Aborts the uploads in parts below the prefix that were begun before that. */
  void abortUploads(Duration olderThan) {
    List<MultipartUpload> old = new ArrayList<>();
    boolean some = findUploads(location.keyPrefix(), olderThan, old);
    // MinIO takes the prefix for a whole key and finds nothing; without one it lists them all.
    boolean aws = connection.settings().service().endpoint().isEmpty();
    if (!some && !aws && !location.keyPrefix().isEmpty()) {
      boolean unused = findUploads("", olderThan, old);
    }
    old.stream()
        .filter(begun -> begun.key().startsWith(location.keyPrefix()))
        .forEach(begun -> abort(begun.key(), begun.uploadId()));
  }

  /** Whether there are any, of whatever age. */
  private boolean findUploads(String prefix, Duration olderThan, List<MultipartUpload> old) {
    @Nullable String key = null;
    @Nullable String upload = null;
    boolean more = true;
    boolean some = false;
    while (more) {
      ListMultipartUploadsRequest request =
          ListMultipartUploadsRequest.builder()
              .bucket(location.bucket())
              .prefix(prefix)
              .keyMarker(key)
              .uploadIdMarker(upload)
              .build();
      ListMultipartUploadsResponse page =
          connection.await(
              connection.repeating().listMultipartUploads(request), "list unfinished uploads");
      Instant before = now(page).minus(olderThan);
      some |= !page.uploads().isEmpty();
      page.uploads().stream()
          // The store's answer knows whole seconds only, so that zero must mean all.
          .filter(begun -> olderThan.isZero() || begun.initiated().isBefore(before))
          .forEach(old::add);
      more = Boolean.TRUE.equals(page.isTruncated());
      key = page.nextKeyMarker();
      upload = page.nextUploadIdMarker();
    }
    return some;
  }

  private void abort(String key, String id) {
    String doing = "abort the upload of key '" + key + "'";
    try {
      var unused =
          connection.awaitRaw(
              connection
                  .repeating()
                  .abortMultipartUpload(
                      abort -> abort.bucket(location.bucket()).key(key).uploadId(id)),
              doing);
    } catch (RequestFailed e) {
      if (e.status() != 404) {
        throw connection.failure(e, doing);
      }
    }
  }

  /** The store's clock, or ours when it does not tell. */
  private static Instant now(ListMultipartUploadsResponse page) {
    return page.sdkHttpResponse()
        .firstMatchingHeader("Date")
        .map(Deletion::parse)
        .orElseGet(Instant::now);
  }

  private static @Nullable Instant parse(String date) {
    try {
      return ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
    } catch (DateTimeParseException e) {
      return null;
    }
  }
}
