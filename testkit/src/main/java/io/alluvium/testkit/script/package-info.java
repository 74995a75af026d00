/**
 * Histories of a job as text: generated from a seed, run against real backends and the model,
 * reduced.
 */
@NullMarked
package io.alluvium.testkit.script;

import org.jspecify.annotations.NullMarked;
