/**
 * JMH benchmarks and the evaluation. Each claim of speed in the documentation names the class of
 * this package that shows it.
 */
@NullMarked
package io.alluvium.benchmarks;

import org.jspecify.annotations.NullMarked;
