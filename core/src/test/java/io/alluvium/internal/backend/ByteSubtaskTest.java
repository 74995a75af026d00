package io.alluvium.internal.backend;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Incarnation;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ByteSubtaskTest {

  private static BlockRef block(long from, long to) {
    return new BlockRef(new BlobName(new Incarnation(1, 2), 3, BlobName.Kind.LOG), 0, 9, from, to);
  }

  @Test
  void checkTail_fromThePositionOrBelow_orNothingToReplay_passes() {
    for (List<BlockRef> tail : List.of(List.of(block(5, 9)), List.of(block(2, 6), block(6, 9)))) {
      assertThatCode(() -> ByteSubtask.checkTail(5, 9, tail)).doesNotThrowAnyException();
    }
    assertThatCode(() -> ByteSubtask.checkTail(9, 9, List.of())).doesNotThrowAnyException();
  }

  @Test
  void checkTail_changesLeftOut_isADefect() {
    assertThatThrownBy(() -> ByteSubtask.checkTail(5, 9, List.of(block(6, 9))))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("[5, 9)")
        .hasMessageContaining("from 6 on only");
    assertThatThrownBy(() -> ByteSubtask.checkTail(5, 9, List.of()))
        .hasMessageContaining("from 9 on only");
  }
}
