/** The chain of a job's checkpoints: manifests, takeover, retention, collection, inspection. */
@NullMarked
package io.alluvium.internal.catalog;

import org.jspecify.annotations.NullMarked;
