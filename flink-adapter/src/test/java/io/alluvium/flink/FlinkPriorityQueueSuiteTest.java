package io.alluvium.flink;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.runtime.state.InternalPriorityQueue;
import org.apache.flink.runtime.state.InternalPriorityQueueTestBase;
import org.junit.jupiter.api.AfterEach;

/** Flink's own suite of timer queues. */
public class FlinkPriorityQueueSuiteTest extends InternalPriorityQueueTestBase {

  private final List<TestKeyedBackend<Long>> backends = new ArrayList<>();

  @AfterEach
  void closeBackends() {
    backends.forEach(TestKeyedBackend::close);
  }

  @Override
  protected InternalPriorityQueue<TestElement> newPriorityQueue(int initialCapacity) {
    TestKeyedBackend<Long> backend =
        TestKeyedBackend.open(Backends.ROCKSDB_CHANGELOG, LongSerializer.INSTANCE, KEY_GROUP_RANGE);
    backends.add(backend);
    return backend.get().create("queue", TestElementSerializer.INSTANCE);
  }

  @Override
  protected boolean testSetSemanticsAgainstDuplicateElements() {
    return true;
  }
}
