package io.alluvium.testkit.model;

import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;

/** A serializer of strings, for keys, namespaces and values of tests. Stateless. */
public final class Texts implements Serializer<String> {

  public static final Texts INSTANCE = new Texts();

  private Texts() {}

  @Override
  public void write(String value, ByteWriter out) {
    out.writeString(value);
  }

  @Override
  public String read(ByteReader in) {
    return in.readString();
  }

  @Override
  public SerializerSnapshot snapshot() {
    return new SerializerSnapshot("testkit-text", 1, new byte[0]);
  }
}
