/**
 * Object storage for tests: a MinIO server if a Docker engine is available, otherwise a server in
 * this process, and a proxy that injects latency and faults.
 */
@NullMarked
package io.alluvium.testkit.s3;

import org.jspecify.annotations.NullMarked;
