package guesttest

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/porchedge/porch/abi"
)

// window is the count of one key.
type window struct {
	ends time.Duration // store time
	used int64
}

// flight is one key of single execution.
type flight struct {
	digest [abi.DigestSize]byte
	stored bool
	lost   bool // nobody knows how it ended
}

// Count implements the host function: fixed windows, all or none.
func (h *Host) Count(charges []Charge, verdicts []byte) int32 {
	if h.phase != phaseRequest {
		return int32(abi.WrongPhase)
	}
	if len(charges) < 1 || len(charges) > abi.MaxCharges {
		return int32(abi.Invalid)
	}
	for _, c := range charges {
		if c.Policy < 0 || int(c.Policy) >= len(h.Policies) || h.Policies[c.Policy].Kind != abi.KindLimit ||
			len(c.Key) < 1 || len(c.Key) > abi.MaxKey || c.Cost < 1 || c.Cost > abi.MaxCost || c.Limit < 0 ||
			c.Limit > abi.MaxCost {
			return int32(abi.Invalid)
		}
	}
	if h.failNow() {
		return int32(h.exchange.Condition)
	}
	allowed := true
	pending := make(map[*window]int64)
	vs := make([]abi.Verdict, len(charges))
	for i, c := range charges {
		w, spec := h.window(c)
		vs[i].Limit = spec.Limit
		if c.Limit > 0 {
			vs[i].Limit = c.Limit
		}
		vs[i].Allowed = w.used+pending[w]+c.Cost <= vs[i].Limit
		pending[w] += c.Cost
		allowed = allowed && vs[i].Allowed
	}
	for i, c := range charges {
		w, spec := h.window(c)
		v := &vs[i]
		if allowed {
			if w.used == 0 {
				w.ends = h.Store + time.Duration(spec.WindowMS)*time.Millisecond
			}
			w.used += c.Cost
		}
		left := max(w.ends-h.Store, 0)
		v.Used, v.Remaining = w.used, max(v.Limit-w.used, 0)
		v.ResetAfter = int64((left + time.Millisecond - 1) / time.Millisecond)
		v.ResetAt = h.Wall.Add(left).UnixMilli()
		switch {
		case c.Cost > v.Limit:
			v.RetryAfter = -1
		case !v.Allowed:
			v.RetryAfter = v.ResetAfter
		}
		v.Put(verdicts[i*abi.VerdictSize:])
	}
	if !allowed {
		return h.decided(abi.Refused)
	}
	return h.decided(abi.Allowed)
}

// window finds the count that a charge goes to; one that has ended starts anew.
func (h *Host) window(c Charge) (*window, *abi.LimitSpec) {
	p := &h.Policies[c.Policy]
	id := p.Name + "\x00" + string(c.Key)
	w := h.windows[id]
	if w == nil || w.used > 0 && w.ends <= h.Store {
		w = &window{}
		h.windows[id] = w
	}
	return w, &p.limit
}

// Begin implements the host function. The first claim of a key executes; Finish ends it.
func (h *Host) Begin(policy int32, key []byte, digest *[abi.DigestSize]byte) int32 {
	switch {
	case h.phase != phaseRequest || h.exchange.Claimed:
		return int32(abi.WrongPhase)
	case policy < 0 || int(policy) >= len(h.Policies) || h.Policies[policy].Kind != abi.KindOnce ||
		len(key) < 1 || len(key) > abi.MaxKey:
		return int32(abi.Invalid)
	}
	h.exchange.Key, h.exchange.Digest = string(key), *digest
	if h.failNow() {
		return int32(h.exchange.Condition)
	}
	id := h.Policies[policy].Name + "\x00" + string(key)
	claim := abi.Execute
	switch f := h.flights[id]; {
	case f == nil:
		h.flights[id] = &flight{digest: *digest}
		h.exchange.flight = id
		h.exchange.refuses = h.Policies[policy].once.OnUnknown == abi.OnUnknownRefuse
	case f.digest != *digest:
		claim = abi.Mismatch
	case f.stored:
		claim = abi.Replay
	case f.lost:
		claim = abi.Unknown
	default:
		claim = abi.Joined
	}
	h.exchange.Claimed, h.exchange.Claim = true, claim
	return h.decided(claim)
}

// Finish ends the flight that x owns: its response is stored, or the key is free again.
func (h *Host) Finish(x *Exchange, stored bool) {
	switch {
	case x.flight == "":
	case stored:
		h.flights[x.flight].stored = true
	default:
		delete(h.flights, x.flight)
	}
}

// Lose ends the flight that x owns without anybody knowing how: later claims are Unknown where the policy
// refuses that, else the key is free again.
func (h *Host) Lose(x *Exchange) {
	switch {
	case x.flight == "":
	case x.refuses:
		h.flights[x.flight].lost = true
	default:
		delete(h.flights, x.flight)
	}
}

// Reserve implements the host function.
func (h *Host) Reserve(policy int32, key []byte) int32 {
	switch {
	case h.phase != phaseRequest:
		return int32(abi.WrongPhase)
	case policy < 0 || int(policy) >= len(h.Policies) || h.Policies[policy].Kind != abi.KindGuard ||
		len(key) < 1 || len(key) > abi.MaxKey:
		return int32(abi.Invalid)
	case len(h.exchange.reserved) == abi.MaxReservations:
		return int32(abi.TooLarge)
	}
	h.exchange.Key = string(key)
	if h.failNow() {
		return int32(h.exchange.Condition)
	}
	p := &h.Policies[policy]
	id := p.Name + "\x00" + string(key)
	if ends, taken := h.reservations[id]; taken && h.Store < ends {
		return h.decided(abi.Duplicate)
	}
	h.reservations[id] = h.Store + time.Duration(p.guard.TTLMS)*time.Millisecond
	h.exchange.reserved = append(h.exchange.reserved, id)
	return h.decided(abi.Reserved)
}

// Unsent gives back what x has reserved: nothing of it went upstream.
func (h *Host) Unsent(x *Exchange) {
	for _, id := range x.reserved {
		delete(h.reservations, id)
	}
}

func (h *Host) decided(result int32) int32 {
	h.exchange.Decided = append(h.exchange.Decided, result)
	return result
}

// failNow says whether this decision was to fail.
func (h *Host) failNow() bool {
	if h.fail == 0 {
		return false
	}
	h.exchange.Condition, h.fail = h.fail, 0
	h.decided(int32(h.exchange.Condition))
	return true
}

// Digest implements the host function. The body counts as held.
func (h *Host) Digest(parts int32, out *[abi.DigestSize]byte) int32 {
	if h.phase != phaseRequest {
		return int32(abi.WrongPhase)
	}
	if parts < 1 || parts > abi.DigestAll {
		return int32(abi.Invalid)
	}
	r := &h.exchange.sent
	path, query, _ := strings.Cut(r.Target, "?")
	mediaType, _ := get(r.Header, "Content-Type")
	sum := sha256.New()
	for i, part := range []string{r.Method, r.Authority, path, query, mediaType, string(r.Body)} {
		if bit := int32(1) << i; parts&bit != 0 {
			sum.Write(binary.LittleEndian.AppendUint32(nil, uint32(bit)))
			sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
			sum.Write([]byte(part))
		}
	}
	sum.Sum(out[:0])
	return 0
}

// ClaimName names a result of Begin.
func ClaimName(claim int32) string {
	names := [...]string{"execute", "joined", "replay", "mismatch", "unknown"}
	if claim < 0 || int(claim) >= len(names) {
		return strconv.Itoa(int(claim))
	}
	return names[claim]
}
