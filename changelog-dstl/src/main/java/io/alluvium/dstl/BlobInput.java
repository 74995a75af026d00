package io.alluvium.dstl;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobStore;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** Reads a range of a blob forwards, exactly. Confined to one thread. */
final class BlobInput implements AutoCloseable {

  /**
   * Up to here a read allocates at once what it was asked for; a longer one grows as bytes come.
   */
  private static final int TRUSTED_BYTES = 16 << 20;

  private final String blob;
  private final InputStream in;
  private long position;

  /** Opens {@code [offset, offset + length)}. */
  BlobInput(BlobStore store, String blob, long offset, long length) {
    this.blob = blob;
    this.in = store.open(blob, offset, length);
    this.position = offset;
  }

  /** The offset in the blob of the next byte. */
  long position() {
    return position;
  }

  byte[] read(int length) {
    try {
      byte[] bytes;
      int got;
      if (length <= TRUSTED_BYTES) {
        bytes = new byte[length];
        got = in.readNBytes(bytes, 0, length);
      } else {
        bytes = in.readNBytes(length);
        got = bytes.length;
      }
      if (got != length) {
        throw StateBackendException.corrupt(
            blob, position + got, length + " bytes from " + position, "the end of the blob");
      }
      position += length;
      return bytes;
    } catch (IOException e) {
      throw failed(e);
    }
  }

  void skipTo(long offset) {
    try {
      in.skipNBytes(offset - position);
      position = offset;
    } catch (EOFException e) {
      throw StateBackendException.of(
          StateBackendException.Kind.CORRUPT,
          "blob '" + blob + "' ends before offset " + offset,
          e);
    } catch (IOException e) {
      throw failed(e);
    }
  }

  private StateBackendException failed(IOException e) {
    return StateBackendException.unavailable(
        "cannot read blob '" + blob + "' at offset " + position + ": " + e.getMessage(), e);
  }

  @Override
  public void close() {
    try {
      in.close();
    } catch (IOException e) {
      throw failed(e);
    }
  }
}
