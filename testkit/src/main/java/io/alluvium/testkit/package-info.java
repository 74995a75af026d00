/**
 * Reference model, seeded operation scripts, fault injection, and conformance suites for tables,
 * blob stores and changelogs.
 */
@NullMarked
package io.alluvium.testkit;

import org.jspecify.annotations.NullMarked;
