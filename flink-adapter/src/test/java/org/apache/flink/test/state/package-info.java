/** In this package because Flink's suite of savepoints is package-private. */
@NullMarked
package org.apache.flink.test.state;

import org.jspecify.annotations.NullMarked;
