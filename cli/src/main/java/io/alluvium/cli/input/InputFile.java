package io.alluvium.cli.input;

import java.nio.file.Path;

/**
 * A file to read. Immutable.
 *
 * @param name shown to people and kept in checkpoints: the file's name, or its path below the
 *     directory that was given, so that an input directory may be moved
 * @param path where it is now
 */
public record InputFile(String name, Path path) {}
