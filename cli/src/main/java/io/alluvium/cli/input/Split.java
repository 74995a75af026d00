package io.alluvium.cli.input;

/**
 * A byte range {@code [start, end)} of an input file that begins and ends at a record's border.
 * Immutable.
 *
 * @param file index into the job's files
 * @param firstLine number of the physical line at {@code start}, counted from 1
 */
public record Split(int file, long start, long end, long firstLine) {}
