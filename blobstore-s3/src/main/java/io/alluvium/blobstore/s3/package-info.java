/**
 * Blobs in S3 and in what speaks its protocol. The only package that knows the AWS SDK, and of it
 * only {@link io.alluvium.blobstore.s3.S3BlobStoreProvider} and the options are loaded before
 * somebody opens an {@code s3:} URI.
 */
@NullMarked
package io.alluvium.blobstore.s3;

import org.jspecify.annotations.NullMarked;
