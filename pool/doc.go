// Package pool is the actor pool: it decides every charge and every claim, one owner for each key, and
// promises durability by tickets. It is used by host/wasm (decisions) and host/edge (flights, tickets). It
// knows no HTTP and no Wasm. After a crash, whatever a ticket confirmed is still true.
package pool
