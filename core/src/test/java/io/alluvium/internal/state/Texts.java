package io.alluvium.internal.state;

import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;
import java.util.Optional;

/** Serializers of the tests. */
final class Texts {

  private Texts() {}

  /** Strings; version 2 writes a marker byte first and reads version 1 by migration. */
  record Text(int version) implements Serializer<String> {

    @Override
    public void write(String value, ByteWriter out) {
      if (version == 2) {
        out.writeByte('!');
      }
      out.writeString(value);
    }

    @Override
    public String read(ByteReader in) {
      if (version == 2) {
        in.skip(1);
      }
      return in.readString();
    }

    @Override
    public SerializerSnapshot snapshot() {
      return new SerializerSnapshot("text", version, new byte[0]);
    }

    @Override
    public Optional<Serializer<String>> readerOf(SerializerSnapshot written) {
      if (written.equals(snapshot())) {
        return Optional.of(this);
      }
      return written.id().equals("text") && written.version() < version
          ? Optional.of(new Text(written.version()))
          : Optional.empty();
    }
  }

  static final Serializer<String> TEXT = new Text(1);
  static final Serializer<String> TEXT_V2 = new Text(2);

  /** Integers, four bytes. */
  static final Serializer<Integer> NUMBER =
      new Serializer<>() {
        @Override
        public void write(Integer value, ByteWriter out) {
          out.writeInt(value);
        }

        @Override
        public Integer read(ByteReader in) {
          return in.readInt();
        }

        @Override
        public SerializerSnapshot snapshot() {
          return new SerializerSnapshot("number", 1, new byte[0]);
        }
      };

  /** Writes nothing. */
  static final Serializer<String> NOTHING =
      new Serializer<>() {
        @Override
        public void write(String value, ByteWriter out) {}

        @Override
        public String read(ByteReader in) {
          return "";
        }

        @Override
        public SerializerSnapshot snapshot() {
          return new SerializerSnapshot("nothing", 1, new byte[0]);
        }
      };
}
