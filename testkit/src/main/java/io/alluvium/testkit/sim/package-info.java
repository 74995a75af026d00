/** Running the real classes one step at a time, in an order that a seed or a search decides. */
@NullMarked
package io.alluvium.testkit.sim;

import org.jspecify.annotations.NullMarked;
