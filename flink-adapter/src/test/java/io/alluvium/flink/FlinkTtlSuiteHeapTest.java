package io.alluvium.flink;

/** The heap table. */
public class FlinkTtlSuiteHeapTest extends FlinkTtlSuite {

  public FlinkTtlSuiteHeapTest() {
    super(Backends.HEAP_CHANGELOG);
  }
}
