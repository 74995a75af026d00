package io.alluvium.dstl;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.ChangeCursor;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.KeyLayout;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** Checks every byte of a segment. Confined to one thread. */
final class SegmentVerifier {

  private static final KeyGroupRange ALL = new KeyGroupRange(0, KeyGroupRange.MAX_KEY_GROUPS);

  private final BlobStore store;
  private final BlobName segment;
  private final String blob;
  private final List<String> problems = new ArrayList<>();

  SegmentVerifier(BlobStore store, BlobName segment) {
    this.store = store;
    this.segment = segment;
    this.blob = segment.toString();
  }

  /** What it holds and what is wrong; throws only when the store does not answer. */
  ChangelogStorage.Verification verify() {
    List<BlockRef> blocks = new ArrayList<>();
    attempt(
        () -> {
          long size =
              store
                  .size(blob)
                  .orElseThrow(
                      () -> StateBackendException.corrupt("blob '" + blob + "' is missing"));
          if (size < SegmentFormat.EMPTY_LENGTH) {
            throw StateBackendException.corrupt(
                blob,
                size,
                "a segment of at least " + SegmentFormat.EMPTY_LENGTH + " bytes",
                "the end of the blob");
          }
          attempt(this::verifyHeader);
          List<SegmentFormat.Entry> entries = readFooter(size);
          entries.forEach(entry -> blocks.add(entry.ref(segment)));
          verifyBlocks(entries, size);
        });
    return new ChangelogStorage.Verification(blocks, problems);
  }

  private void attempt(Runnable check) {
    try {
      check.run();
    } catch (StateBackendException e) {
      switch (e.kind()) {
        case CORRUPT, INCOMPATIBLE -> problems.add(String.valueOf(e.getMessage()));
        default -> throw e;
      }
    }
  }

  private void verifyHeader() {
    byte[] header = store.read(blob, 0, SegmentFormat.HEADER_LENGTH);
    SegmentFormat.expectMagic(
        blob,
        0,
        "a segment",
        SegmentFormat.HEADER_MAGIC,
        Bytes.getInt(header, SegmentFormat.HEADER_MAGIC_AT));
    SegmentFormat.expectCrc(
        blob,
        0,
        "a segment header",
        Bytes.getInt(header, SegmentFormat.HEADER_CRC_AT),
        header,
        0,
        SegmentFormat.HEADER_CRC_AT);
    SegmentFormat.checkVersion(
        blob,
        "segment",
        Bytes.getShort(header, SegmentFormat.HEADER_VERSION_AT),
        SegmentFormat.VERSION);
    SegmentFormat.expect(
        blob,
        SegmentFormat.HEADER_RESERVED_AT,
        "reserved",
        0,
        Bytes.getShort(header, SegmentFormat.HEADER_RESERVED_AT));
    Incarnation incarnation =
        new Incarnation(
            Bytes.getLong(header, SegmentFormat.HEADER_INCARNATION_AT),
            Bytes.getLong(header, SegmentFormat.HEADER_INCARNATION_AT + 8));
    if (!incarnation.equals(segment.incarnation())) {
      throw StateBackendException.corrupt(
          blob, SegmentFormat.HEADER_INCARNATION_AT, "the incarnation of its name", incarnation);
    }
  }

  private List<SegmentFormat.Entry> readFooter(long size) {
    long tailAt = size - SegmentFormat.TAIL_LENGTH;
    byte[] tail = store.read(blob, tailAt, SegmentFormat.TAIL_LENGTH);
    SegmentFormat.expectMagic(
        blob,
        tailAt + SegmentFormat.TAIL_MAGIC_AT,
        "the end of a segment",
        SegmentFormat.TAIL_MAGIC,
        Bytes.getInt(tail, SegmentFormat.TAIL_MAGIC_AT));
    SegmentFormat.expectCrc(
        blob,
        tailAt,
        "a segment's tail",
        Bytes.getInt(tail, SegmentFormat.TAIL_CRC_AT),
        tail,
        0,
        SegmentFormat.TAIL_CRC_AT);
    SegmentFormat.checkVersion(
        blob,
        "segment",
        Bytes.getShort(tail, SegmentFormat.TAIL_VERSION_AT),
        SegmentFormat.VERSION);
    long reservedAt = tailAt + SegmentFormat.TAIL_RESERVED_AT;
    int reserved = Bytes.getShort(tail, SegmentFormat.TAIL_RESERVED_AT);
    SegmentFormat.expect(blob, reservedAt, "reserved", 0, reserved);
    long footerAt = Bytes.getLong(tail, SegmentFormat.TAIL_FOOTER_OFFSET_AT);
    int footerLength = Bytes.getInt(tail, SegmentFormat.TAIL_FOOTER_LENGTH_AT);
    if (footerAt < SegmentFormat.HEADER_LENGTH
        || footerLength < SegmentFormat.footerLength(0)
        || footerAt != tailAt - footerLength) {
      throw StateBackendException.corrupt(
          blob,
          tailAt,
          "a footer that ends where the tail begins, at " + tailAt,
          footerLength + " bytes from " + footerAt);
    }
    return parseFooter(store.read(blob, footerAt, footerLength), footerAt);
  }

  private List<SegmentFormat.Entry> parseFooter(byte[] footer, long footerAt) {
    SegmentFormat.expectMagic(
        blob,
        footerAt,
        "a segment's footer",
        SegmentFormat.FOOTER_MAGIC,
        Bytes.getInt(footer, SegmentFormat.FOOTER_MAGIC_AT));
    int crcAt = footer.length - SegmentFormat.FOOTER_CRC_LENGTH;
    SegmentFormat.expectCrc(
        blob, footerAt, "a segment's footer", Bytes.getInt(footer, crcAt), footer, 0, crcAt);
    int count = Bytes.getInt(footer, SegmentFormat.FOOTER_COUNT_AT);
    SegmentFormat.expect(
        blob,
        footerAt + SegmentFormat.FOOTER_COUNT_AT,
        "a number of blocks,",
        (footer.length - SegmentFormat.footerLength(0)) / SegmentFormat.ENTRY_LENGTH,
        count);
    List<SegmentFormat.Entry> entries = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int at = SegmentFormat.FOOTER_ENTRIES_AT + i * SegmentFormat.ENTRY_LENGTH;
      entries.add(
          new SegmentFormat.Entry(
              Bytes.getLong(footer, at + SegmentFormat.ENTRY_CHANGELOG_AT),
              Bytes.getLong(footer, at + SegmentFormat.ENTRY_FROM_AT),
              Bytes.getLong(footer, at + SegmentFormat.ENTRY_TO_AT),
              Bytes.getLong(footer, at + SegmentFormat.ENTRY_OFFSET_AT),
              Bytes.getInt(footer, at + SegmentFormat.ENTRY_LENGTH_AT)));
    }
    return entries;
  }

  /** The blocks must lie side by side from the header to the footer. */
  private void verifyBlocks(List<SegmentFormat.Entry> entries, long size) {
    long footerAt = size - SegmentFormat.TAIL_LENGTH - SegmentFormat.footerLength(entries.size());
    long at = SegmentFormat.HEADER_LENGTH;
    for (SegmentFormat.Entry entry : entries) {
      SegmentFormat.expect(blob, at, "a block at", at, entry.offset());
      attempt(() -> verifyBlock(entry));
      at += entry.length();
    }
    SegmentFormat.expect(blob, at, "the footer at", at, footerAt);
  }

  private void verifyBlock(SegmentFormat.Entry entry) {
    BlockRef ref = entry.ref(segment);
    DecodedBlock block = new BlockReader(store).read(ref, ALL);
    BlockHead head = block.head();
    SegmentFormat.expect(
        blob,
        entry.offset() + BlockFormat.CHANGELOG_AT,
        "the changelog id of the footer,",
        entry.changelogId(),
        head.changelogId());
    BitSet seen = new BitSet();
    for (int i = 0; i < head.entries(); i++) {
      int keyGroup = head.keyGroup(i);
      ChangeCursor changes = block.changes(keyGroup);
      while (changes.next()) {
        int length = changes.keyLength();
        int found =
            length < KeyLayout.KEY_GROUP_BYTES
                ? -1
                : KeyLayout.keyGroup(changes.array(), changes.keyOffset());
        SegmentFormat.expect(blob, entry.offset(), "a key of key group", keyGroup, found);
        seen.set((int) (changes.sqn() - ref.fromSqn()));
      }
    }
    SegmentFormat.expect(
        blob,
        entry.offset(),
        "distinct sequence numbers,",
        ref.toSqn() - ref.fromSqn(),
        seen.cardinality());
  }
}
