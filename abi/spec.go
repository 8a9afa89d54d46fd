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
	// OnUnknown is what becomes of a duplicate when nobody knows how the run ended: "rerun" (default) or "refuse".
	OnUnknown string `json:"on_unknown,omitempty"`
}

// GuardSpec is the JSON of a policy of KindGuard.
type GuardSpec struct {
	TTLMS   int64 `json:"ttl_ms"`             // how long a reservation lasts, from its admission
	MaxKeys int64 `json:"max_keys,omitempty"` // keys present at once; 0 takes the host's default
}

// VerifierSpec is the JSON of a verifier: how tokens are verified. Its members have the names that a
// configuration should have, so that a mistake is told at its place.
type VerifierSpec struct {
	Algorithms []string `json:"algorithms"` // at least one of TokenAlgorithms
	Key        KeySpec  `json:"key"`
	Issuer     string   `json:"issuer"`              // what iss must be
	Audience   string   `json:"audience"`            // what aud must be or hold
	LeewayMS   int64    `json:"leeway_ms,omitempty"` // by how much clocks may differ, 0 to MaxLeewayMS
}

// KeySpec says where the host finds the key; one member is not empty.
type KeySpec struct {
	Env  string `json:"env,omitempty"`  // a variable of the host's environment
	File string `json:"file,omitempty"` // a file with a secret or a public key in PEM
	JWKS string `json:"jwks,omitempty"` // a file with a JSON Web Key Set (RFC 7517)
}

// MaxLeewayMS bounds the leeway of a verifier, in milliseconds.
const MaxLeewayMS = 5 * 60 * 1000

// TokenAlgorithms returns the algorithms that a verifier may allow, by their names in RFC 7518 and RFC 8037.
func TokenAlgorithms() []string {
	return []string{"HS256", "HS384", "HS512", "RS256", "PS256", "ES256", "EdDSA"}
}

// Values of the text members of a spec.
const (
	AlgorithmFixedWindow = "fixed-window"

	DurabilitySync  = "sync"
	DurabilityAsync = "async"
	DurabilityNone  = "none"

	OnUnknownRerun  = "rerun"
	OnUnknownRefuse = "refuse"
)
