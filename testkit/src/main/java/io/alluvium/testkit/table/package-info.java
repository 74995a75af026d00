/** A table and its changes as plain collections, to compare real tables with. */
@NullMarked
package io.alluvium.testkit.table;

import org.jspecify.annotations.NullMarked;
