@NullMarked
package io.alluvium.testkit.s3;

import org.jspecify.annotations.NullMarked;
