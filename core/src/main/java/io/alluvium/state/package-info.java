/** The kinds of keyed state that an operator works with. */
@NullMarked
package io.alluvium.state;

import org.jspecify.annotations.NullMarked;
