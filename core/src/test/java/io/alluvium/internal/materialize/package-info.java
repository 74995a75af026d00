@NullMarked
package io.alluvium.internal.materialize;

import org.jspecify.annotations.NullMarked;
