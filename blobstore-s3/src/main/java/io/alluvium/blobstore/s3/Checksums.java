package io.alluvium.blobstore.s3;

import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.List;
import java.util.zip.CRC32C;

/** CRC32C as S3 writes it: four bytes, big endian, in Base64. Stateless. */
final class Checksums {

  private Checksums() {}

  static String of(byte[] bytes) {
    return of(List.of(ByteBuffer.wrap(bytes)));
  }

  /** Over all buffers in order; their positions are left alone. */
  static String of(List<ByteBuffer> parts) {
    CRC32C crc = new CRC32C();
    parts.forEach(part -> crc.update(part.duplicate()));
    return Base64.getEncoder()
        .encodeToString(ByteBuffer.allocate(4).putInt((int) crc.getValue()).array());
  }
}
