package io.alluvium.flink;

import org.apache.flink.runtime.state.StreamStateHandle;

/**
 * Where a blob stands in what Flink keeps. Immutable.
 *
 * @param file the name of the file within the checkpoint's handle
 * @param handle the file
 * @param offset of the blob's first byte in the file
 */
record Place(String file, StreamStateHandle handle, long offset) {}
