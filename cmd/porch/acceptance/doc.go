// Package acceptance holds the tests of the real binary: each starts porch as its own process, before an
// upstream in the test that counts its executions as rows, and drives it over HTTP, with SIGTERM, with
// kill -9 and on a real disk. The upstream holds and releases requests on command, so the tests assert
// order, never time; windows are longer than any test. Nothing else calls this package.
package acceptance
