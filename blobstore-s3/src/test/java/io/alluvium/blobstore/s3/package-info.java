@NullMarked
package io.alluvium.blobstore.s3;

import org.jspecify.annotations.NullMarked;
