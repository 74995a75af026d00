@NullMarked
package io.alluvium.internal.backend;

import org.jspecify.annotations.NullMarked;
