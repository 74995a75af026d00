package io.alluvium.internal.arguments;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Refuses nulls where the public API begins, before anything is touched: the annotations bind our
 * own code, not that of users. Stateless.
 */
public final class Arguments {

  private Arguments() {}

  /** Throws {@code INVALID} with its name when an argument is null. */
  public static void check(@Nullable Object value, String name) {
    Object unused = notNull(value, name);
  }

  /** Gives an argument back, or throws {@code INVALID} with its name. */
  public static <T> T notNull(@Nullable T value, String name) {
    if (value == null) {
      throw StateBackendException.invalid("the argument '" + name + "' must not be null");
    }
    return value;
  }

  /** A copy of an argument; {@code INVALID} with its name when it is null or holds a null. */
  public static <T> List<T> copy(@Nullable Collection<? extends T> values, String name) {
    for (@Nullable T value : notNull(values, name)) {
      if (value == null) {
        throw StateBackendException.invalid("the argument '" + name + "' must not hold a null");
      }
    }
    return List.copyOf(notNull(values, name));
  }

  /**
   * The format of a user's serializer, which every checkpoint carries.
   *
   * @param role what the serializer is for, for messages
   * @throws StateBackendException {@code INVALID} when it names none
   */
  public static SerializerSnapshot snapshotOf(Serializer<?> serializer, String role) {
    @Nullable SerializerSnapshot snapshot;
    try {
      snapshot = serializer.snapshot();
    } catch (RuntimeException e) {
      throw StateBackendException.of(
          StateBackendException.Kind.INVALID,
          "serializer "
              + serializer.getClass().getName()
              + " of "
              + role
              + " has no snapshot: "
              + e,
          e);
    }
    if (snapshot == null) {
      throw StateBackendException.invalid(
          "serializer "
              + serializer.getClass().getName()
              + " of "
              + role
              + " has no snapshot (it is null); return one that names the format and its version");
    }
    return snapshot;
  }
}
