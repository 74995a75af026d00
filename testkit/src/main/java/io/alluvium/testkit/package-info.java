/**
 * Reference model, seeded op scripts, fault injection and conformance kits: what a table, a blob
 * store or a changelog must do, as tests.
 */
@NullMarked
package io.alluvium.testkit;

import org.jspecify.annotations.NullMarked;
