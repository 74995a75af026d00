/** The reference model of a table and its changes, to compare real tables with. */
@NullMarked
package io.alluvium.testkit.table;

import org.jspecify.annotations.NullMarked;
