package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

final class BufferPoolTest {

  private final BufferPool pool = new BufferPool();

  @Test
  void release_thenTake_reusesTheArray() {
    BufferPool.Buffer first = pool.takeActive();
    byte[] array = first.array();
    pool.release(first);
    assertThat(pool.take(BufferPool.BLOCK_BYTES).array()).isSameAs(array);
    assertThat(pool.takeActive().array()).isNotSameAs(array);
    assertThat(pool.heldBuffers()).isEqualTo(2);
    assertThat(pool.heldBytes()).isEqualTo(2L * BufferPool.ARRAY_BYTES);
  }

  @Test
  void take_muchLessOrMoreThanABlock_hasItsOwnSize() {
    assertThat(pool.take(100).capacity()).isEqualTo(100);
    assertThat(pool.take(BufferPool.ARRAY_BYTES + 1).capacity())
        .isEqualTo(BufferPool.ARRAY_BYTES + 1);
  }

  @Test
  void release_twice_throws() {
    BufferPool.Buffer buffer = pool.takeActive();
    pool.release(buffer);
    assertThatThrownBy(() -> pool.release(buffer)).hasMessageContaining("released twice");
    assertThatThrownBy(() -> pool.forget(buffer)).hasMessageContaining("released twice");
  }

  @Test
  void forget_neverHandsTheArrayOutAgain() {
    BufferPool.Buffer buffer = pool.takeActive();
    pool.forget(buffer);
    assertThat(pool.heldBuffers()).isZero();
    assertThat(pool.takeActive().array()).isNotSameAs(buffer.array());
  }

  @Test
  void release_manyBuffers_keepsABoundedNumber() {
    BufferPool.Buffer[] buffers = new BufferPool.Buffer[80];
    for (int i = 0; i < buffers.length; i++) {
      buffers[i] = pool.takeActive();
    }
    for (BufferPool.Buffer buffer : buffers) {
      pool.release(buffer);
    }
    assertThat(pool.heldBytes()).isZero();
    assertThat(pool.freeArrays()).isEqualTo(64);
  }
}
