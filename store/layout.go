package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/porchedge/porch/store/clock"
)

// This file holds the numbers of record: every byte that is on disk. History:
//
//	format 1  counters (layout 1), responses (layout 1), expiry index, clock row (layout 1)
//	          later: reservations (layout 1), flag 2 of responses: whoever does not know it finds a record that
//	          cannot be read, and refuses
//	format 2  counts of rows by policy (layout 1); buckets of the expiry index are 1 s wide, not 10 s

// formatVersion is raised whenever a reader of the former one could misread what is written.
const formatVersion = 2

// Tables: the first byte of a key.
const (
	tableMeta     = 'm' // one row for each name
	tableCounter  = 'c' // by row key
	tableResponse = 'r' // by row key
	tableReserved = 'v' // by row key
	tableExpiry   = 'x' // bucket, policy, row key; the value is the row's table
	tableCount    = 'n' // by policy: how many rows it has in the other tables
)

// Rows of the meta table.
var (
	keyFormat = []byte("mformat") // u32, little endian: the format version
	keySecret = []byte("msecret") // 32 random bytes
	keyClock  = []byte("mclock")  // the last reading of the clock
)

// Sizes in bytes.
const (
	secretSize  = 32
	DigestSize  = 32
	rowNameSize = 1 + RowKeySize
	indexSize   = 1 + 8 + len(PolicyID{}) + RowKeySize
	counterSize = 32
	headSize    = 48 // of a response, before its record
	reserveSize = 24
	countSize   = 9
	clockSize   = 26 // before the name of the boot
)

// expiryBucket is the width of a bucket of the expiry index in store time.
const expiryBucket = time.Second

const (
	counterLayout  = 1
	responseLayout = 1
	reserveLayout  = 1
	clockLayout    = 1
	countLayout    = 1

	flagOversize = 1 << 0
	flagStarted  = 1 << 1
)

// putRowName writes the key of a row: its table, then its row key.
func putRowName(b []byte, table byte, key RowKey) {
	b[0] = table
	copy(b[1:], key[:])
}

// putIndex writes the key of the entry of a row in a bucket of the expiry index. Big endian, so that entries
// lie in the order of their buckets.
func putIndex(b []byte, bucket uint64, policy PolicyID, key RowKey) {
	b[0] = tableExpiry
	binary.BigEndian.PutUint64(b[1:], bucket)
	copy(b[9:], policy[:])
	copy(b[9+len(policy):], key[:])
}

// bucketStart is where a bucket of the expiry index begins.
func bucketStart(bucket uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{tableExpiry}, bucket)
}

func getIndex(name, value []byte) (e Entry, bucket uint64, err error) {
	if len(name) != indexSize || len(value) != 1 {
		return e, 0, fmt.Errorf("%w: index entry of %d bytes", ErrCorrupt, len(name))
	}
	copy(e.Policy[:], name[9:])
	copy(e.Key[:], name[9+len(e.Policy):])
	e.table = value[0]
	return e, binary.BigEndian.Uint64(name[1:]), nil
}

// countName is the key of the row that counts a policy's rows.
func countName(policy PolicyID) []byte { return append([]byte{tableCount}, policy[:]...) }

// appendCount appends a count, little endian:
//
//	offset 0   u8   layout 1
//	offset 1   i64  rows
func appendCount(b []byte, rows int64) []byte {
	return binary.LittleEndian.AppendUint64(append(b, countLayout), uint64(rows))
}

func getCount(name, value []byte) (policy PolicyID, rows int64, err error) {
	if len(name) != 1+len(policy) || len(value) != countSize || value[0] != countLayout {
		return policy, 0, fmt.Errorf("%w: count of %d bytes", ErrCorrupt, len(value))
	}
	copy(policy[:], name[1:])
	return policy, int64(binary.LittleEndian.Uint64(value[1:])), nil
}

// putCounter writes a counter, little endian:
//
//	offset 0   u8   layout 1
//	offset 1   u8   algorithm
//	offset 2   6    0
//	offset 8   i64  start of the window, store time in nanoseconds
//	offset 16  i64  its end
//	offset 24  i64  used
func putCounter(b []byte, a Algorithm, row Row) {
	clear(b[:8])
	b[0] = counterLayout
	b[1] = byte(a)
	binary.LittleEndian.PutUint64(b[8:], uint64(row.Start))
	binary.LittleEndian.PutUint64(b[16:], uint64(row.End))
	binary.LittleEndian.PutUint64(b[24:], uint64(row.Used))
}

func getCounter(b []byte) (Row, error) {
	if len(b) != counterSize || b[0] != counterLayout || Algorithm(b[1]) != AlgorithmFixedWindow {
		return Row{}, fmt.Errorf("%w: counter of %d bytes", ErrCorrupt, len(b))
	}
	return Row{
		Start: time.Duration(binary.LittleEndian.Uint64(b[8:])),
		End:   time.Duration(binary.LittleEndian.Uint64(b[16:])),
		Used:  int64(binary.LittleEndian.Uint64(b[24:])),
	}, nil
}

// response is a stored response.
type response struct {
	digest   [DigestSize]byte
	expires  time.Duration
	oversize bool // the request ran, and its response was too large to keep
	started  bool // the request was about to run; there is no record
	record   []byte
}

// putResponse writes a response, little endian:
//
//	offset 0   u8   layout 1
//	offset 1   u8   flags: 1 oversize, 2 started
//	offset 2   6    0
//	offset 8   i64  when it expires, store time in nanoseconds
//	offset 16  32   digest of the request
//	offset 48       the record, to the end
func putResponse(b []byte, r *response) {
	clear(b[:8])
	b[0] = responseLayout
	if r.oversize {
		b[1] |= flagOversize
	}
	if r.started {
		b[1] |= flagStarted
	}
	binary.LittleEndian.PutUint64(b[8:], uint64(r.expires))
	copy(b[16:], r.digest[:])
	copy(b[headSize:], r.record)
}

// getResponse copies what it keeps of b.
// checkResponse says whether b can be a response.
func checkResponse(b []byte) error {
	if len(b) < headSize || b[0] != responseLayout {
		return fmt.Errorf("%w: response of %d bytes", ErrCorrupt, len(b))
	}
	return nil
}

func getResponse(b []byte) (*response, error) {
	if err := checkResponse(b); err != nil {
		return nil, err
	}
	r := &response{
		expires:  time.Duration(binary.LittleEndian.Uint64(b[8:])),
		oversize: b[1]&flagOversize != 0,
		started:  b[1]&flagStarted != 0,
		record:   append([]byte(nil), b[headSize:]...),
	}
	copy(r.digest[:], b[16:])
	return r, nil
}

// putReservation writes a reservation, little endian:
//
//	offset 0   u8   layout 1
//	offset 1   7    0
//	offset 8   i64  when it expires, store time in nanoseconds
//	offset 16  u64  token of its owner
func putReservation(b []byte, expires time.Duration, token uint64) {
	clear(b[:8])
	b[0] = reserveLayout
	binary.LittleEndian.PutUint64(b[8:], uint64(expires))
	binary.LittleEndian.PutUint64(b[16:], token)
}

func getReservation(b []byte) (expires time.Duration, token uint64, err error) {
	if len(b) != reserveSize || b[0] != reserveLayout {
		return 0, 0, fmt.Errorf("%w: reservation of %d bytes", ErrCorrupt, len(b))
	}
	return time.Duration(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b[16:]), nil
}

// appendClock appends a reading of the clock, little endian:
//
//	offset 0   u8   layout 1
//	offset 1   i64  store time in nanoseconds
//	offset 9   i64  wall clock, Unix nanoseconds
//	offset 17  i64  time since the boot in nanoseconds
//	offset 25  u8   length of the name of the boot
//	offset 26       the name
func appendClock(b []byte, r clock.Reading) []byte {
	b = append(b, clockLayout)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Store))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Wall.UnixNano()))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Elapsed))
	b = append(b, byte(len(r.Boot)))
	return append(b, r.Boot...)
}

func getClock(b []byte) (clock.Reading, error) {
	if len(b) < clockSize || b[0] != clockLayout || len(b) != clockSize+int(b[25]) {
		return clock.Reading{}, fmt.Errorf("%w: clock reading of %d bytes", ErrCorrupt, len(b))
	}
	return clock.Reading{
		Store:   time.Duration(binary.LittleEndian.Uint64(b[1:])),
		Wall:    time.Unix(0, int64(binary.LittleEndian.Uint64(b[9:]))),
		Elapsed: time.Duration(binary.LittleEndian.Uint64(b[17:])),
		Boot:    string(b[clockSize:]),
	}, nil
}
