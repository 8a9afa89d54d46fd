package abi

// LimitSpec is the JSON of a policy of KindLimit.
type LimitSpec struct {
	Algorithm  string `json:"algorithm"`            // "fixed-window"
	Limit      int64  `json:"limit"`                // 1 to MaxCost
	WindowMS   int64  `json:"window_ms"`            // milliseconds, at least 1
	Durability string `json:"durability,omitempty"` // "sync" (default), "async" or "none"
	MaxKeys    int64  `json:"max_keys,omitempty"`   // keys present at once; 0 takes the host's default
}

// OnceSpec is the JSON of a policy of KindOnce.
type OnceSpec struct {
	TTLMS       int64    `json:"ttl_ms"`             // how long a stored response is replayed
	MaxWaitMS   int64    `json:"max_wait_ms"`        // how long a duplicate waits for the flight
	MaxWaiters  int64    `json:"max_waiters"`        // duplicates that wait for one flight at once
	MaxResponse int64    `json:"max_response"`       // bytes of body that are stored
	Headers     []string `json:"headers,omitempty"`  // replayed beside the contract's list
	MaxKeys     int64    `json:"max_keys,omitempty"` // keys present at once; 0 takes the host's default
}

// Values of the text members of a spec.
const (
	AlgorithmFixedWindow = "fixed-window"

	DurabilitySync  = "sync"
	DurabilityAsync = "async"
	DurabilityNone  = "none"
)
