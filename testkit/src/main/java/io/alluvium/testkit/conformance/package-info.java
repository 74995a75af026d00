/** One suite for each seam of Alluvium; every provider must pass it. */
@NullMarked
package io.alluvium.testkit.conformance;

import org.jspecify.annotations.NullMarked;
