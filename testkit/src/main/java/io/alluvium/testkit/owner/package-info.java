/** Owners of one job that take over from each other, with sinks, and what must always hold. */
@NullMarked
package io.alluvium.testkit.owner;

import org.jspecify.annotations.NullMarked;
