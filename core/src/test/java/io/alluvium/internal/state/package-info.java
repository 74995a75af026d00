/** Tests of the typed states over small in-memory tables and changelogs. */
@NullMarked
package io.alluvium.internal.state;

import org.jspecify.annotations.NullMarked;
