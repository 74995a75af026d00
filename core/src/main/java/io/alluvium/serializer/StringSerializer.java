package io.alluvium.serializer;

import java.nio.charset.StandardCharsets;

/**
 * Stores strings as length and UTF-8. Stateless.
 *
 * <p>Java strings may hold unpaired surrogates, which have no UTF-8 form. Java's encoder replaces
 * them by '?', so that two different keys would share one state. They are therefore stored as the
 * three bytes that their code unit would have in UTF-8.
 */
final class StringSerializer extends SimpleSerializer<String> {

  static final StringSerializer INSTANCE = new StringSerializer();

  private static final char REPLACEMENT = '\uFFFD';

  private StringSerializer() {
    super("string");
  }

  @Override
  public void write(String value, ByteWriter out) {
    int length = value.length();
    int start = out.length();
    out.writeVarInt(length);
    int at = out.length();
    out.ensureCapacity(at + length);
    byte[] array = out.array();
    for (int i = 0; i < length; i++) {
      char c = value.charAt(i);
      if (c >= 0x80) {
        out.setLength(start);
        writeGeneral(value, out);
        return;
      }
      array[at + i] = (byte) c;
    }
    out.setLength(at + length);
  }

  private static void writeGeneral(String value, ByteWriter out) {
    out.writeVarInt(encodedLength(value));
    int length = value.length();
    for (int i = 0; i < length; i++) {
      char c = value.charAt(i);
      if (c < 0x80) {
        out.writeByte(c);
      } else if (c < 0x800) {
        out.writeByte(0xc0 | c >> 6);
        out.writeByte(0x80 | (c & 0x3f));
      } else if (startsPair(value, i)) {
        int point = Character.toCodePoint(c, value.charAt(++i));
        out.writeByte(0xf0 | point >> 18);
        out.writeByte(0x80 | (point >> 12 & 0x3f));
        out.writeByte(0x80 | (point >> 6 & 0x3f));
        out.writeByte(0x80 | (point & 0x3f));
      } else {
        out.writeByte(0xe0 | c >> 12);
        out.writeByte(0x80 | (c >> 6 & 0x3f));
        out.writeByte(0x80 | (c & 0x3f));
      }
    }
  }

  private static int encodedLength(String value) {
    int bytes = 0;
    int length = value.length();
    for (int i = 0; i < length; i++) {
      char c = value.charAt(i);
      if (startsPair(value, i)) {
        bytes = Math.addExact(bytes, 4);
        i++;
      } else {
        bytes = Math.addExact(bytes, c < 0x80 ? 1 : c < 0x800 ? 2 : 3);
      }
    }
    return bytes;
  }

  private static boolean startsPair(String value, int i) {
    return Character.isHighSurrogate(value.charAt(i))
        && i + 1 < value.length()
        && Character.isLowSurrogate(value.charAt(i + 1));
  }

  @Override
  public String read(ByteReader in) {
    int length = in.readVarInt();
    int start = in.position();
    in.skip(length);
    String text = new String(in.array(), start, length, StandardCharsets.UTF_8);
    return text.indexOf(REPLACEMENT) < 0 ? text : readGeneral(in.array(), start, start + length);
  }

  /**
   * Decodes text in which Java's decoder found an unpaired surrogate or a replacement character.
   */
  private static String readGeneral(byte[] array, int start, int end) {
    StringBuilder text = new StringBuilder(end - start);
    int from = start;
    for (int i = start; i + 2 < end; i++) {
      // 1110_1101 101x_xxxx 10xx_xxxx is a surrogate.
      if (array[i] == (byte) 0xed
          && (array[i + 1] & 0xe0) == 0xa0
          && (array[i + 2] & 0xc0) == 0x80) {
        text.append(new String(array, from, i - from, StandardCharsets.UTF_8));
        text.append((char) (0xd000 | (array[i + 1] & 0x3f) << 6 | (array[i + 2] & 0x3f)));
        i += 2;
        from = i + 1;
      }
    }
    return text.append(new String(array, from, end - from, StandardCharsets.UTF_8)).toString();
  }
}
