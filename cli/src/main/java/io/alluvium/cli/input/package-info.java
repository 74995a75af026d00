/** Input files as replayable sources: splits, positions, records. */
@NullMarked
package io.alluvium.cli.input;

import org.jspecify.annotations.NullMarked;
