package io.alluvium.cli.input;

/**
 * What an input file looked like when the job started. Immutable.
 *
 * @param name see {@link InputFile#name()}
 * @param crc32c checksum of all its bytes
 */
public record Fingerprint(String name, long sizeBytes, int crc32c) {}
