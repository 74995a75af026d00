package io.alluvium.serializer;

import io.alluvium.StateBackendException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;

/**
 * Serializers without parameters. Signed numbers are stored with the sign bit flipped, so that
 * their bytes sort like their values. Immutable.
 */
final class SimpleSerializers {

  private static final int NANOS_PER_SECOND = 1_000_000_000;

  static final Serializer<Boolean> BOOL =
      new SimpleSerializer<>("bool") {
        @Override
        public void write(Boolean value, ByteWriter out) {
          out.writeByte(value ? 1 : 0);
        }

        @Override
        public Boolean read(ByteReader in) {
          return readFlag(in);
        }
      };

  static final Serializer<Byte> INT8 =
      new SimpleSerializer<>("int8") {
        @Override
        public void write(Byte value, ByteWriter out) {
          out.writeByte(value ^ 0x80);
        }

        @Override
        public Byte read(ByteReader in) {
          return (byte) (in.readByte() ^ 0x80);
        }
      };

  static final Serializer<Short> INT16 =
      new SimpleSerializer<>("int16") {
        @Override
        public void write(Short value, ByteWriter out) {
          out.writeShort(value ^ 0x8000);
        }

        @Override
        public Short read(ByteReader in) {
          return (short) (in.readUnsignedShort() ^ 0x8000);
        }

        @Override
        public Optional<Serializer<Short>> readerOf(SerializerSnapshot written) {
          return orWidened(this, INT8, Byte::shortValue, written);
        }
      };

  static final Serializer<Integer> INT32 =
      new SimpleSerializer<>("int32") {
        @Override
        public void write(Integer value, ByteWriter out) {
          out.writeInt(value ^ Integer.MIN_VALUE);
        }

        @Override
        public Integer read(ByteReader in) {
          return in.readInt() ^ Integer.MIN_VALUE;
        }

        @Override
        public Optional<Serializer<Integer>> readerOf(SerializerSnapshot written) {
          return orWidened(this, INT16, Short::intValue, written);
        }
      };

  static final Serializer<Long> INT64 =
      new SimpleSerializer<>("int64") {
        @Override
        public void write(Long value, ByteWriter out) {
          out.writeLong(value ^ Long.MIN_VALUE);
        }

        @Override
        public Long read(ByteReader in) {
          return in.readLong() ^ Long.MIN_VALUE;
        }

        @Override
        public Optional<Serializer<Long>> readerOf(SerializerSnapshot written) {
          return orWidened(this, INT32, Integer::longValue, written);
        }
      };

  static final Serializer<Float> FLOAT32 =
      new SimpleSerializer<>("float32") {
        @Override
        public void write(Float value, ByteWriter out) {
          int bits = Float.floatToIntBits(value);
          out.writeInt(bits < 0 ? ~bits : bits ^ Integer.MIN_VALUE);
        }

        @Override
        public Float read(ByteReader in) {
          int bits = in.readInt();
          return Float.intBitsToFloat(bits < 0 ? bits ^ Integer.MIN_VALUE : ~bits);
        }
      };

  static final Serializer<Double> FLOAT64 =
      new SimpleSerializer<>("float64") {
        @Override
        public void write(Double value, ByteWriter out) {
          long bits = Double.doubleToLongBits(value);
          out.writeLong(bits < 0 ? ~bits : bits ^ Long.MIN_VALUE);
        }

        @Override
        public Double read(ByteReader in) {
          long bits = in.readLong();
          return Double.longBitsToDouble(bits < 0 ? bits ^ Long.MIN_VALUE : ~bits);
        }

        @Override
        public Optional<Serializer<Double>> readerOf(SerializerSnapshot written) {
          return orWidened(this, FLOAT32, Float::doubleValue, written);
        }
      };

  static final Serializer<Character> CHARACTER =
      new SimpleSerializer<>("char") {
        @Override
        public void write(Character value, ByteWriter out) {
          out.writeShort(value);
        }

        @Override
        public Character read(ByteReader in) {
          return (char) in.readUnsignedShort();
        }
      };

  static final Serializer<byte[]> BYTES =
      new SimpleSerializer<>("bytes") {
        @Override
        public void write(byte[] value, ByteWriter out) {
          out.writeByteArray(value);
        }

        @Override
        public byte[] read(ByteReader in) {
          return in.readByteArray();
        }
      };

  static final Serializer<UUID> UUIDS =
      new SimpleSerializer<>("uuid") {
        @Override
        public void write(UUID value, ByteWriter out) {
          out.writeLong(value.getMostSignificantBits());
          out.writeLong(value.getLeastSignificantBits());
        }

        @Override
        public UUID read(ByteReader in) {
          return new UUID(in.readLong(), in.readLong());
        }
      };

  static final Serializer<Instant> INSTANT =
      new SimpleSerializer<>("instant") {
        @Override
        public void write(Instant value, ByteWriter out) {
          writeTime(value.getEpochSecond(), value.getNano(), out);
        }

        @Override
        public Instant read(ByteReader in) {
          long seconds = in.readLong() ^ Long.MIN_VALUE;
          try {
            return Instant.ofEpochSecond(seconds, readNanos(in));
          } catch (DateTimeException e) {
            throw StateBackendException.of(
                StateBackendException.Kind.CORRUPT,
                "a stored instant of " + seconds + " s is out of range",
                e);
          }
        }
      };

  static final Serializer<Duration> DURATION =
      new SimpleSerializer<>("duration") {
        @Override
        public void write(Duration value, ByteWriter out) {
          writeTime(value.getSeconds(), value.getNano(), out);
        }

        @Override
        public Duration read(ByteReader in) {
          return Duration.ofSeconds(in.readLong() ^ Long.MIN_VALUE, readNanos(in));
        }
      };

  static final Serializer<BigInteger> BIG_INTEGER =
      new SimpleSerializer<>("bigint") {
        @Override
        public void write(BigInteger value, ByteWriter out) {
          out.writeByteArray(value.toByteArray());
        }

        @Override
        public BigInteger read(ByteReader in) {
          return readBigInteger(in);
        }
      };

  static final Serializer<BigDecimal> BIG_DECIMAL =
      new SimpleSerializer<>("decimal") {
        @Override
        public void write(BigDecimal value, ByteWriter out) {
          out.writeInt(value.scale());
          out.writeByteArray(value.unscaledValue().toByteArray());
        }

        @Override
        public BigDecimal read(ByteReader in) {
          int scale = in.readInt();
          return new BigDecimal(readBigInteger(in), scale);
        }
      };

  private SimpleSerializers() {}

  /** Reads a flag of one byte; fails as {@code CORRUPT} if it is not 0 or 1. */
  static boolean readFlag(ByteReader in) {
    byte flag = in.readByte();
    if (flag != 0 && flag != 1) {
      throw StateBackendException.corrupt("a stored flag must be 0 or 1, found " + flag);
    }
    return flag == 1;
  }

  private static void writeTime(long seconds, int nanos, ByteWriter out) {
    out.writeLong(seconds ^ Long.MIN_VALUE);
    out.writeInt(nanos);
  }

  private static int readNanos(ByteReader in) {
    int nanos = in.readInt();
    if (nanos < 0 || nanos >= NANOS_PER_SECOND) {
      throw StateBackendException.corrupt(
          "stored nanoseconds must lie within [0, " + NANOS_PER_SECOND + "), found " + nanos);
    }
    return nanos;
  }

  private static BigInteger readBigInteger(ByteReader in) {
    byte[] bytes = in.readByteArray();
    if (bytes.length == 0) {
      throw StateBackendException.corrupt("a stored big integer has no bytes");
    }
    return new BigInteger(bytes);
  }

  /** Returns {@code wide} for its own format, a widening reader for formats of {@code narrow}. */
  private static <W, N> Optional<Serializer<W>> orWidened(
      Serializer<W> wide, Serializer<N> narrow, Function<N, W> widen, SerializerSnapshot written) {
    if (written.equals(wide.snapshot())) {
      return Optional.of(wide);
    }
    return narrow.readerOf(written).map(reader -> new Widened<>(reader, widen, written));
  }

  private static final class Widened<W, N> extends ReadOnly<W> {

    private final Serializer<N> narrow;
    private final Function<N, W> widen;

    Widened(Serializer<N> narrow, Function<N, W> widen, SerializerSnapshot written) {
      super(written);
      this.narrow = narrow;
      this.widen = widen;
    }

    @Override
    public W read(ByteReader in) {
      return widen.apply(narrow.read(in));
    }
  }
}
