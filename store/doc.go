// Package store keeps rows: counters and responses, each under a key that gives no identity away. It takes
// batches of operations from the pool's shards, decides them with pure algorithms on the rows, and makes
// the rows durable. Only the pool calls it, each shard for its own rows; it knows no HTTP and no Wasm.
//
// A decision is answered at once and made durable in the background; its Ticket says when that has
// happened. After a crash every row is there as the newest confirmed ticket saw it, or newer. Decisions
// whose ticket was not confirmed may or may not have survived, the later ones never without the earlier
// ones of their shard.
package store
