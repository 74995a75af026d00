/**
 * Keyed state for JVM stream processors: states, backends, checkpoints and the catalog that decides
 * which of them count.
 */
@NullMarked
package io.alluvium;

import org.jspecify.annotations.NullMarked;
