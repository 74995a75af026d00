/**
 * Turning a table into durable files in the background, and what checkpoints stand on meanwhile.
 */
@NullMarked
package io.alluvium.internal.materialize;

import org.jspecify.annotations.NullMarked;
