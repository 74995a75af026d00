/** Owners of one job that take over from each other, their sinks, and the invariants. */
@NullMarked
package io.alluvium.testkit.owner;

import org.jspecify.annotations.NullMarked;
