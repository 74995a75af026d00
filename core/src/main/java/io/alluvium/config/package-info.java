/** Typed, documented options and the checked configuration. */
@NullMarked
package io.alluvium.config;

import org.jspecify.annotations.NullMarked;
