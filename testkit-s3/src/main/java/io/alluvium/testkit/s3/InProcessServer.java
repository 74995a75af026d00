package io.alluvium.testkit.s3;

import java.net.URI;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;
import org.gaul.s3proxy.nio2blob.TransientNio2BlobStore;

/** Starts S3Proxy in this process, with its objects in memory. Stateless. */
final class InProcessServer {

  private InProcessServer() {}

  static URI start() {
    TransientNio2BlobStore objects = new TransientNio2BlobStore();
    objects.createContainer(S3Server.BUCKET);
    S3Proxy proxy =
        S3Proxy.builder()
            .blobStore(new WholePuts(objects))
            .endpoint(URI.create("http://127.0.0.1:0"))
            .awsAuthentication(
                AuthenticationType.AWS_V2_OR_V4, S3Server.ACCESS_KEY, S3Server.SECRET_KEY)
            .build();
    try {
      proxy.start();
    } catch (Exception e) {
      throw new IllegalStateException("the S3 server in this process did not start", e);
    }
    return URI.create("http://127.0.0.1:" + proxy.getPort());
  }
}
