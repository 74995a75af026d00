/** Jobs with exact results, their models and what breaks them on the way. */
@NullMarked
package io.alluvium.flink.jobs;

import org.jspecify.annotations.NullMarked;
