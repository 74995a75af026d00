/** Help for people who write settings. */
@NullMarked
package io.alluvium.internal.settings;

import org.jspecify.annotations.NullMarked;
