/**
 * Object storage for tests: a MinIO server where a Docker engine answers, a server in this process
 * where none does, and a proxy in front of either that brings latency and faults.
 */
@NullMarked
package io.alluvium.testkit.s3;

import org.jspecify.annotations.NullMarked;
