@NullMarked
package io.alluvium.internal.restore;

import org.jspecify.annotations.NullMarked;
