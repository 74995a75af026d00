/**
 * JMH benchmarks and the evaluation: each claim of speed in the documentation names the class in
 * here that shows it.
 */
@NullMarked
package io.alluvium.benchmarks;

import org.jspecify.annotations.NullMarked;
