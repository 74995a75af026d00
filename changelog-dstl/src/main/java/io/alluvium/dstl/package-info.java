/**
 * The durable short-term log: every change of a backend, sealed into blocks, stored in segments and
 * read back for replay.
 */
@NullMarked
package io.alluvium.dstl;

import org.jspecify.annotations.NullMarked;
