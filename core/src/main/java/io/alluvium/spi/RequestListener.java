package io.alluvium.spi;

/**
 * Told of each request that a store makes, attempts that failed included: what object storage
 * charges for. Calls must be short and must not block. Thread-safe.
 */
public interface RequestListener {

  /** What a request does; the four that prices tell apart. */
  enum Verb {
    /** Stores, also a part of a blob. */
    PUT,
    /** Reads content or size. */
    GET,
    LIST,
    DELETE
  }

  /**
   * A request was made.
   *
   * @param name of the blob; of a listing its prefix; empty when it is about many
   * @param bytes of content that went over the network
   */
  void requested(Verb verb, String name, long bytes);

  /** The store answered that there are too many requests. */
  void throttled();

  /** Listens to nothing. */
  RequestListener NONE =
      new RequestListener() {
        @Override
        public void requested(Verb verb, String name, long bytes) {}

        @Override
        public void throttled() {}
      };
}
