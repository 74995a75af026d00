/** Kills real processes at seeded moments. */
@NullMarked
package io.alluvium.testkit.kill;

import org.jspecify.annotations.NullMarked;
