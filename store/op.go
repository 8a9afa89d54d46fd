package store

import "time"

// OpKind says what an operation does.
type OpKind uint8

// The kinds of operation.
const (
	// OpCharge takes Cost from a counter if there is room.
	OpCharge OpKind = iota
	// OpPeek decides as OpCharge does, as if nothing were set aside, and takes nothing.
	OpPeek
	// OpHold sets room for Cost aside, in memory only, until OpConfirm or OpCancel of the same cost.
	OpHold
	// OpConfirm takes what an OpHold set aside.
	OpConfirm
	// OpCancel gives back what an OpHold set aside.
	OpCancel
	// OpLookup finds the response that is stored under a key.
	OpLookup
	// OpPut stores a response.
	OpPut
	// OpReserve reserves a key for the rule's TTL unless it is reserved; one that is stays as it was.
	OpReserve
	// OpUnreserve gives back the reservation that Token names; a newer one of the key stays.
	OpUnreserve
	// OpStart stores that a request with the digest is about to run, in the place of its response.
	OpStart
	// OpForget removes what OpStart has stored, and nothing else. The row's place stays taken.
	OpForget
	// OpVacate gives back the place that an OpLookup has taken.
	OpVacate
	// OpExpire deletes a row whose time is over: see Entry.
	OpExpire
	// OpSweep drops counters of durability none whose time is over, a bounded number of those of the shard.
	OpSweep
)

// isNew says whether the operation is new work: it may be refused while the disk stalls. The others end
// work that was admitted.
func (k OpKind) isNew() bool {
	switch k {
	case OpCharge, OpPeek, OpHold, OpLookup, OpReserve, OpStart:
		return true
	default:
		return false
	}
}

// Outcome is the result of an operation.
type Outcome uint8

// The outcomes.
const (
	// Unavailable: the store cannot take decisions. Nothing was decided.
	Unavailable Outcome = iota
	// Full: there is no room for one more row of the policy. Nothing was decided.
	Full
	// Allowed: there was room; it was taken, or set aside by OpHold. Verdict holds.
	Allowed
	// Refused: there is no room, whatever becomes of what is set aside. Verdict holds.
	Refused
	// Contended: only what others have set aside stands in the way. Ask again once it is settled.
	Contended
	// Absent: nothing is stored. OpLookup has taken a place for the row to come.
	Absent
	// Found: Record or Oversize is the stored response, to a request with the same digest.
	Found
	// Differs: a response to a request with another digest is stored.
	Differs
	// Done: OpCancel, OpPut, OpUnreserve, OpStart, OpForget or OpVacate was done, or OpExpire or OpSweep has
	// deleted something.
	Done
	// Started: a request with the same digest was started, and nobody has told how it ended.
	Started
	// Reserved: the key is reserved by this operation; Token names the reservation.
	Reserved
	// Taken: the key was reserved before.
	Taken
	// Alive: the row that OpExpire was to delete lives on.
	Alive
)

// Op is one operation of a batch, and its result.
type Op struct {
	Kind OpKind
	Key  RowKey
	Rule *Rule

	// Cost and Limit are of the counter operations.
	Cost, Limit int64
	// Digest, Record and Oversize are of OpPut, and results of OpLookup but for Digest, which it is
	// compared with. A Record is never changed by anyone afterwards.
	Digest   [DigestSize]byte
	Record   []byte
	Oversize bool
	// Token names a reservation: the result of OpReserve, which OpUnreserve is given. It is never 0.
	Token uint64
	// Placed says that a place for the row is taken: the result of OpLookup and OpForget, which OpStart or
	// OpPut is given, or else OpVacate.
	Placed bool

	Outcome Outcome
	Verdict Verdict
	// Wall is the time of day at the decision.
	Wall time.Time
	// Ticket is what the result rests on; nil if it is durable already, or the rule does not ask for it.
	Ticket *Ticket

	row   int32 // the counter's place in its table while the batch is applied
	table byte  // of OpExpire
}

// Rule is what a policy asks of its rows. It is immutable.
type Rule struct {
	Policy     PolicyID
	Algorithm  Algorithm
	Window     time.Duration // of AlgorithmFixedWindow
	TTL        time.Duration // of responses and reservations
	Durability Durability
	MaxKeys    int64 // rows present at once; no bound if 0
}
