// Package store keeps rows: it decides batches of operations with pure algorithms and makes them durable.
// Only the pool's shards call it. It knows no HTTP and no Wasm. After a crash every row that a ticket
// confirmed is there again.
package store

// Durability says what a decision waits for before anyone sees it.
type Durability uint8

// The durabilities.
const (
	Sync  Durability = iota // on disk
	Async                   // on disk within the sync interval
	None                    // in memory only
)

// Store keeps rows.
type Store interface{ Close() error }
