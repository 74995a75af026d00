package io.alluvium.cli.job;

/**
 * One keyed element on its way from a source to the subtask that owns its key. Immutable.
 *
 * @param timeMillis event time; {@code Position.NO_TIME} in a job without event time
 * @param value empty in a job that only counts
 * @param watermark of its source, as it stood before the record that the element comes from
 */
public record Element(String key, long timeMillis, String value, long watermark) {}
