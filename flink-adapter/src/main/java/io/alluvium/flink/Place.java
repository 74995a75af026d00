package io.alluvium.flink;

import org.apache.flink.runtime.state.StreamStateHandle;

/**
 * Where a blob stands in what Flink keeps. Immutable. The file's name within a checkpoint is that
 * checkpoint's own matter.
 *
 * @param handle the file
 * @param offset of the blob's first byte in the file
 */
record Place(StreamStateHandle handle, long offset) {}
