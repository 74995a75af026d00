package io.alluvium.testkit.s3;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import org.gaul.s3proxy.blobstore.BlobStore;
import org.gaul.s3proxy.blobstore.ForwardingBlobStore;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Request;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Response;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.PutObjectResponse;

/**
 * Makes puts atomic, as S3 guarantees: an object is visible only as a whole, and a condition is
 * evaluated atomically with the put. S3Proxy's own store lists files that it is still writing.
 * Thread-safe.
 */
final class WholePuts extends ForwardingBlobStore {

  private final Object lock = new Object();

  WholePuts(BlobStore delegate) {
    super(delegate);
  }

  @Override
  public PutObjectResponse putBlob(PutObjectRequest request, InputStream content) {
    try {
      InputStream whole = new ByteArrayInputStream(content.readAllBytes());
      synchronized (lock) {
        return super.putBlob(request, whole);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public ListObjectsV2Response list(ListObjectsV2Request request) {
    synchronized (lock) {
      return super.list(request);
    }
  }
}
