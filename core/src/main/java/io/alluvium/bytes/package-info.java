/**
 * The level below the typed states: for an engine that brings its own state kinds, serializers and
 * keeper of checkpoints, and only needs the table, the changelog and the checkpoint protocol.
 */
@NullMarked
package io.alluvium.bytes;

import org.jspecify.annotations.NullMarked;
