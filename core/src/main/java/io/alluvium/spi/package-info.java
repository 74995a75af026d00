/**
 * The seams of Alluvium: blob store, changelog, table, time and threads, metrics, and the values
 * they exchange.
 */
@NullMarked
package io.alluvium.spi;

import org.jspecify.annotations.NullMarked;
