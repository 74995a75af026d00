package io.alluvium.blobstore.s3;

import java.util.Optional;
import software.amazon.awssdk.services.s3.model.ServerSideEncryption;

/** What a request says about encryption. Stateless. */
final class S3Encryption {

  private S3Encryption() {}

  static Optional<ServerSideEncryption> of(S3Settings settings) {
    return switch (settings.encryption().kind()) {
      case NONE -> Optional.empty();
      case S3 -> Optional.of(ServerSideEncryption.AES256);
      case KMS -> Optional.of(ServerSideEncryption.AWS_KMS);
    };
  }
}
