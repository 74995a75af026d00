package io.alluvium.blobstore.s3;

import io.alluvium.spi.RequestListener;
import io.alluvium.spi.RequestListener.Verb;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.services.s3.model.AbortMultipartUploadRequest;
import software.amazon.awssdk.services.s3.model.DeleteObjectsRequest;
import software.amazon.awssdk.services.s3.model.ListMultipartUploadsRequest;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Request;

/** Tells of each attempt that the SDK makes, and of complaints about too many. Thread-safe. */
final class S3Listening implements ExecutionInterceptor {

  private final S3Location location;
  private volatile RequestListener listener = RequestListener.NONE;

  S3Listening(S3Location location) {
    this.location = location;
  }

  void tell(RequestListener newListener) {
    listener = newListener;
  }

  @Override
  public void beforeTransmission(Context.BeforeTransmission context, ExecutionAttributes ignored) {
    if (verb(context) != Verb.GET) {
      listener.requested(
          verb(context), name(context.request()), length(context.httpRequest().headers()));
    }
  }

  @Override
  public void afterTransmission(Context.AfterTransmission context, ExecutionAttributes ignored) {
    // What was read is known only now.
    if (verb(context) == Verb.GET) {
      boolean content = context.httpRequest().method() == SdkHttpMethod.GET;
      listener.requested(
          Verb.GET,
          name(context.request()),
          content ? length(context.httpResponse().headers()) : 0);
    }
    int status = context.httpResponse().statusCode();
    if (status == 429 || status == 503) {
      listener.throttled();
    }
  }

  private static Verb verb(Context.BeforeTransmission context) {
    SdkRequest request = context.request();
    if (request instanceof ListObjectsV2Request || request instanceof ListMultipartUploadsRequest) {
      return Verb.LIST;
    }
    if (request instanceof DeleteObjectsRequest || request instanceof AbortMultipartUploadRequest) {
      return Verb.DELETE;
    }
    return switch (context.httpRequest().method()) {
      case GET, HEAD -> Verb.GET;
      default -> Verb.PUT;
    };
  }

  /** Of the blob, or the prefix; empty when the request is about many. */
  private String name(SdkRequest request) {
    String key =
        request
            .getValueForField("Key", String.class)
            .or(() -> request.getValueForField("Prefix", String.class))
            .orElse("");
    return key.startsWith(location.keyPrefix()) ? location.nameOf(key) : "";
  }

  private static long length(Map<String, List<String>> headers) {
    for (Map.Entry<String, List<String>> header : headers.entrySet()) {
      if (header.getKey().equalsIgnoreCase("Content-Length") && !header.getValue().isEmpty()) {
        String text = header.getValue().get(0);
        return text.matches("\\d{1,18}") ? Long.parseLong(text) : 0;
      }
    }
    return 0;
  }
}
