/**
 * Suites that need every module: histories of whole jobs, faults, damage. They live here because
 * only the command line has all providers on its class path.
 */
@NullMarked
package io.alluvium.suite;

import org.jspecify.annotations.NullMarked;
