package io.alluvium.flink.jobs;

/**
 * One record of the test traffic. Immutable.
 *
 * @param timeMillis its event time
 */
public record Event(long key, long timeMillis, long value) {}
