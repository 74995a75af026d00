package io.alluvium.flink;

import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.Incarnation;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;

/** Names of one keyed backend's blobs: each backend is an incarnation of its own. Thread-safe. */
final class Names implements BlobNames {

  private final Incarnation incarnation;
  private final AtomicLong counter = new AtomicLong();

  Names(RandomGenerator random) {
    incarnation = Incarnation.random(random);
  }

  @Override
  public BlobName next(BlobName.Kind kind) {
    return new BlobName(incarnation, counter.getAndIncrement(), kind);
  }

  @Override
  public Incarnation incarnation() {
    return incarnation;
  }
}
