// Package pool is the actor pool: it takes every charge and every claim, has the one shard that owns its
// key decide it, and promises durability by tickets. It is used by host/wasm (decisions) and host/edge
// (flights, tickets). It knows no HTTP and no Wasm.
//
// A shard is one goroutine with a bounded mailbox. It drains what waits, has the store decide the whole
// batch, and answers. It runs nobody's work: who owns a flight works in its own goroutine and reports back.
//
// After a crash whatever a ticket confirmed is still true. Flights, waiters and what several charges of one
// call have set aside live in memory only, and end with the process.
package pool
