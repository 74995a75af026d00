package io.alluvium.cli.input;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;

/**
 * A window over a file through which whole records are read one after the other. It holds no file
 * open between two loads, so that a source may take turns over any number of splits with one chunk.
 * Confined to one thread.
 */
public final class RecordChunk {

  private static final int CHUNK_BYTES = 64 << 10;

  /**
   * Beyond this a record is taken for a mistake: a binary file, or a quote that is never closed.
   */
  private static final int MAX_RECORD_BYTES = 256 << 20;

  private final RecordFormat format;
  private byte[] buffer = new byte[CHUNK_BYTES];
  private InputFile file = new InputFile("", java.nio.file.Path.of(""));
  private long fileOffset;
  private int filled;
  private boolean atEnd;
  private int recordStart;
  private int recordEnd;
  private long line;
  private long nextLine;

  public RecordChunk(RecordFormat format) {
    this.format = format;
  }

  /**
   * Loads the next records of {@code [offset, end)}, at least one unless the range is empty.
   *
   * @param atLine number of the physical line at {@code offset}
   */
  public void load(InputFile newFile, long offset, long end, long atLine) {
    file = newFile;
    fileOffset = offset;
    recordStart = 0;
    recordEnd = 0;
    line = atLine;
    nextLine = atLine;
    int wanted = CHUNK_BYTES;
    do {
      if (buffer.length < wanted) {
        buffer = new byte[wanted];
      }
      filled = (int) Math.min(wanted, end - offset);
      atEnd = offset + filled == end;
      read(offset);
      if (wanted >= MAX_RECORD_BYTES && !atEnd && format.endOf(buffer, 0, filled, false) < 0) {
        throw new JobException(
            "the record at line "
                + atLine
                + " of '"
                + newFile.path()
                + "' is longer than "
                + (MAX_RECORD_BYTES >> 20)
                + " MB; check that the file is what the job expects");
      }
      wanted *= 4;
    } while (format.endOf(buffer, 0, filled, atEnd) < 0);
  }

  private void read(long offset) {
    try (FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.READ)) {
      ByteBuffer target = ByteBuffer.wrap(buffer, 0, filled);
      while (target.hasRemaining()) {
        if (channel.read(target, offset + target.position()) < 0) {
          throw new JobException(
              "input '"
                  + file.path()
                  + "' became shorter while it was read; the job's input must not change");
        }
      }
    } catch (IOException e) {
      throw InputFiles.cannotRead(file, e);
    }
  }

  /** Goes to the next record; false when the chunk holds no further whole one. */
  public boolean next() {
    recordStart = recordEnd;
    line = nextLine;
    if (recordStart == filled) {
      return false;
    }
    int end = format.endOf(buffer, recordStart, filled, atEnd);
    if (end < 0) {
      return false;
    }
    recordEnd = end;
    nextLine = line + (format == RecordFormat.LINES ? 1 : lineFeeds());
    return true;
  }

  private int lineFeeds() {
    int count = 0;
    for (int i = recordStart; i < recordEnd; i++) {
      if (buffer[i] == '\n') {
        count++;
      }
    }
    return count;
  }

  /** The bytes that {@link #start()} and {@link #end()} index. */
  public byte[] buffer() {
    return buffer;
  }

  /** First byte of the record. */
  public int start() {
    return recordStart;
  }

  /** One past the last byte of the record, its line end left out. */
  public int end() {
    int end = recordEnd;
    if (end > recordStart && buffer[end - 1] == '\n') {
      end--;
      if (end > recordStart && buffer[end - 1] == '\r') {
        end--;
      }
    }
    return end;
  }

  /** Number of the physical line where the record starts. */
  public long line() {
    return line;
  }

  /** Offset in the file of what follows the record. */
  public long nextOffset() {
    return fileOffset + recordEnd;
  }

  /** Number of the physical line that follows the record. */
  public long nextLine() {
    return nextLine;
  }
}
