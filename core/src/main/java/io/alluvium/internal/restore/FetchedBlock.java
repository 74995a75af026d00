package io.alluvium.internal.restore;

import io.alluvium.KeyGroupRange;
import io.alluvium.spi.ChangeBlock;

/** A block in memory and the key groups that were fetched of it. Immutable. */
record FetchedBlock(ChangeBlock block, KeyGroupRange keyGroups) {}
