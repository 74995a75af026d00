/** The evaluation jobs, written against the public API of the state backend. */
@NullMarked
package io.alluvium.cli.job;

import org.jspecify.annotations.NullMarked;
