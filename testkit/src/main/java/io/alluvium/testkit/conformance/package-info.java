/** One conformance suite per provider interface of Alluvium. */
@NullMarked
package io.alluvium.testkit.conformance;

import org.jspecify.annotations.NullMarked;
