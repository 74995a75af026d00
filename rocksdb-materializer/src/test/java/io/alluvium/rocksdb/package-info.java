@NullMarked
package io.alluvium.rocksdb;

import org.jspecify.annotations.NullMarked;
