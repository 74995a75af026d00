/** The reference model of keyed state, in plain collections. */
@NullMarked
package io.alluvium.testkit.model;

import org.jspecify.annotations.NullMarked;
