/** The kinds of keyed state that operators use. */
@NullMarked
package io.alluvium.state;

import org.jspecify.annotations.NullMarked;
