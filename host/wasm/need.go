package wasm

// Need is what a filter asked for by need: the request body, for the requests it applies to.
type Need struct {
	Features int32
	Header   string // only for requests that carry it; empty for all
	Cap      int64  // bytes of body at most
}
