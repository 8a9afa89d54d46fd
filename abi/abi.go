// Package abi is the contract between a Porch host and its filters, version 1: the names, numbers and
// wire records that both sides compile against. README.md beside this file is the contract in words,
// clause by clause; this package holds nothing but its constants and codecs, and imports nothing of Porch.
//
// Numbers of this package are numbers of record: once released, none is changed or used again.
package abi

// Module is the import module that holds every host function of this version.
const Module = "porch_v1"

// Names of the functions and of the memory that a guest exports.
const (
	ExportMemory    = "memory"
	ExportConfigure = "porch_configure"
	ExportRequest   = "porch_request"
	ExportResponse  = "porch_response"
)

// Names of the functions that a host offers under Module.
const (
	FuncPolicy  = "policy"
	FuncReject  = "reject"
	FuncNeed    = "need"
	FuncGet     = "get"
	FuncList    = "list"
	FuncSet     = "set"
	FuncAdd     = "add"
	FuncRemove  = "remove"
	FuncRespond = "respond"
	FuncCount   = "count"
	FuncBegin   = "begin"
	FuncDigest  = "digest"
	FuncClock   = "clock"
	FuncLog     = "log"

	FuncVerifier = "verifier"
	FuncVerify   = "verify"
	FuncReserve  = "reserve"
)

// Condition is a negative result of a host function: a named reason why it has no result.
type Condition int32

// The conditions.
const (
	// Absent: the field, header, property or value is not there.
	Absent Condition = -1
	// Invalid: an argument is not allowed here; nothing was done.
	Invalid Condition = -2
	// TooLarge: an argument is longer than its bound; nothing was done.
	TooLarge Condition = -3
	// WrongPhase: the function cannot be used now; nothing was done.
	WrongPhase Condition = -4
	// Saturated: a bounded queue is full; nothing was decided.
	Saturated Condition = -5
	// Unavailable: the store cannot take decisions, or did not answer in time.
	Unavailable Condition = -6
	// Capacity: the policy holds as many keys as it may; nothing was decided.
	Capacity Condition = -7
	// Denied: the field may be read but not written by this filter.
	Denied Condition = -8
	// Untrusted: the token is malformed, is not signed as the verifier demands, or is meant for
	// somebody else.
	Untrusted Condition = -9
	// Expired: the token was good, and its time is over.
	Expired Condition = -10
	// Early: the token will be good, and its time has not come.
	Early Condition = -11
)

// Kind is what a policy does.
type Kind int32

// The kinds of policy.
const (
	KindLimit Kind = 1
	KindOnce  Kind = 2
	KindGuard Kind = 3
)

// Results of count.
const (
	Allowed int32 = 0
	Refused int32 = 1
)

// Results of begin.
const (
	Execute  int32 = 0
	Joined   int32 = 1
	Replay   int32 = 2
	Mismatch int32 = 3
	// Unknown: a request with this digest was started, and nobody knows how it ended.
	Unknown int32 = 4
)

// Results of reserve.
const (
	Reserved  int32 = 0
	Duplicate int32 = 1
)

// Field names a part of the exchange, the first argument of get, list, set, add and remove.
type Field int32

// The fields. Each is bytes; numbers are decimal text.
const (
	FieldMethod         Field = 1
	FieldScheme         Field = 2
	FieldAuthority      Field = 3
	FieldPath           Field = 4
	FieldQuery          Field = 5
	FieldRoutePath      Field = 6
	FieldRequestHeader  Field = 7
	FieldRequestBody    Field = 8 // kept for read_body and write_body
	FieldPeer           Field = 9
	FieldClient         Field = 10
	FieldRequestID      Field = 11
	FieldRoute          Field = 12
	FieldFilter         Field = 13
	FieldVersion        Field = 14
	FieldConfiguration  Field = 15
	FieldProperty       Field = 16
	FieldResponseStatus Field = 17
	FieldResponseHeader Field = 18
	FieldResponseBody   Field = 19
	FieldOutcome        Field = 20
	FieldBodyHash       Field = 21
)

// Values of FieldOutcome.
const (
	OutcomeExecuted = "executed"
	OutcomeReplayed = "replayed"
)

// Features that need asks for, a bit set.
const (
	// FeatureBody has the host hold the whole request body before the filter runs, so that digest
	// can cover it.
	FeatureBody int32 = 1 << 0
)

// Parts of a request that digest covers, a bit set.
const (
	DigestMethod      int32 = 1 << 0
	DigestAuthority   int32 = 1 << 1
	DigestPath        int32 = 1 << 2
	DigestQuery       int32 = 1 << 3
	DigestContentType int32 = 1 << 4
	DigestBody        int32 = 1 << 5
	DigestAll         int32 = 1<<6 - 1
)

// Statuses that respond takes, and that a filter may set.
const (
	MinStatus = 200
	MaxStatus = 599
)

// DigestSize is the length of a digest in bytes (SHA-256).
const DigestSize = 32

// Clocks.
const (
	// ClockWall is Unix time in milliseconds, for what a client will read.
	ClockWall int32 = 0
	// ClockStore is store time in milliseconds: it only moves forward, and decisions rest on it.
	ClockStore int32 = 1
)

// Levels of log.
const (
	LevelDebug int32 = 0
	LevelInfo  int32 = 1
	LevelWarn  int32 = 2
	LevelError int32 = 3
)

// Bounds that both sides keep.
const (
	MaxKey          = 1024     // bytes of a key
	MaxCost         = 1 << 53  // largest cost and limit
	MaxCharges      = 64       // charges of one count
	MaxReservations = 16       // reservations of one exchange
	MaxPolicies     = 64       // policies of one filter
	MaxPolicyName   = 64       // bytes of a policy's name
	MaxSpec         = 64 << 10 // bytes of a policy's spec
	MaxNeeds        = 16       // needs of one filter
	MaxProperties   = 64       // properties of one exchange
	MaxProperty     = 4096     // bytes of a property's value
	MaxPropertyName = 128      // bytes of a property's name, without the filter's
	MaxLogLine      = 4096     // bytes of a log line; the rest is cut
	MaxFieldName    = 256      // bytes of a header's name
	MaxFieldValue   = 64 << 10 // bytes of a header's value
	MaxTarget       = 8 << 10  // bytes of a path, query or authority that a filter sets
	MaxHeaderOps    = 256      // header operations of one call
	MaxReasons      = 64       // reject calls of one configuration; the rest is dropped
	MaxReason       = 1024     // bytes of a pointer or a reason
	MaxResponseBody = 1 << 20  // bytes of a response body that a filter sets
	MaxVerifiers    = 16       // verifiers of one filter
	MaxToken        = 16 << 10 // bytes of a token
)
