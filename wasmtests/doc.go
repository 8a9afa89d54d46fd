// Package wasmtests holds the contract tests of the ABI: for each numbered clause of abi/README.md at least
// one, over real .wasm guests in a real host with a real upstream. What the tests need of a host is the
// interface kit.Host, so that the author of another host can run them there.
package wasmtests
