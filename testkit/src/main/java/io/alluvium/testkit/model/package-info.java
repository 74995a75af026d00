/** Keyed state as plain collections: what a backend must show. */
@NullMarked
package io.alluvium.testkit.model;

import org.jspecify.annotations.NullMarked;
