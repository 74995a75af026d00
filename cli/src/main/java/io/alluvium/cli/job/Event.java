package io.alluvium.cli.job;

import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;

/**
 * A raw event as a window keeps it. Immutable.
 *
 * @param value the number as it was written
 */
record Event(long timeMillis, String value) {

  /** Time as eight bytes, then the value as a string. */
  static final Serializer<Event> FORMAT =
      new Serializer<>() {
        @Override
        public void write(Event event, ByteWriter out) {
          out.writeLong(event.timeMillis());
          out.writeString(event.value());
        }

        @Override
        public Event read(ByteReader in) {
          return new Event(in.readLong(), in.readString());
        }

        @Override
        public SerializerSnapshot snapshot() {
          return new SerializerSnapshot("io.alluvium.cli.event", 1, new byte[0]);
        }
      };
}
