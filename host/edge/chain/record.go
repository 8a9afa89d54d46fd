package chain

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/porchedge/porch/host/exchange"
)

// A stored response, all numbers little endian:
//
//	u8   version, 1
//	u16  status
//	u16  number of fields
//	     per field: u16 length and name, u32 length and value
//	     the rest is the body
const recordVersion = 1

var errRecord = errors.New("chain: stored response is damaged or of a newer version")

// replayable are the fields that a replay carries beside those that the policy names: what describes the
// stored bytes and what they point to.
var replayable = map[string]bool{
	"content-type": true, "content-encoding": true, "content-language": true, "content-location": true,
	"content-disposition": true, "content-range": true, "content-md5": true, "content-digest": true, "repr-digest": true,
	"location": true, "etag": true, "last-modified": true, "link": true, "vary": true,
}

// unreplayable are never stored, even where a policy names them: they belong to one client, one moment or
// one connection.
var unreplayable = map[string]bool{
	"set-cookie": true, "date": true, "age": true, "connection": true, "keep-alive": true,
	"proxy-authenticate": true, "proxy-authentication-info": true, "proxy-connection": true, "te": true,
	"trailer": true, "transfer-encoding": true, "upgrade": true, "content-length": true,
}

// appendRecord encodes the response, whose body is held, with the fields that a replay may carry.
func appendRecord(dst []byte, r *exchange.Response, extra []string) []byte {
	dst = append(dst, recordVersion)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(r.Status))
	countAt := len(dst)
	dst = append(dst, 0, 0)
	var n uint16
	for _, f := range r.Header.Fields {
		if !carried(string(f.Name), extra) {
			continue
		}
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(f.Name)))
		dst = append(dst, f.Name...)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f.Value)))
		dst = append(dst, f.Value...)
		n++
	}
	binary.LittleEndian.PutUint16(dst[countAt:], n)
	return append(dst, r.Body.Bytes...)
}

func carried(name string, extra []string) bool {
	low := strings.ToLower(name)
	if unreplayable[low] {
		return false
	}
	if replayable[low] {
		return true
	}
	for _, e := range extra {
		if strings.EqualFold(e, name) {
			return true
		}
	}
	return false
}

// readRecord decodes a record into r, whose slices then point into it.
func readRecord(record []byte, r *exchange.Response) error {
	if len(record) < 5 || record[0] != recordVersion {
		return errRecord
	}
	status := int(binary.LittleEndian.Uint16(record[1:]))
	n := binary.LittleEndian.Uint16(record[3:])
	rest := record[5:]
	r.Header.Reset()
	for range n {
		var name, value []byte
		var ok bool
		if name, rest, ok = cut(rest, 2); !ok {
			return errRecord
		}
		if value, rest, ok = cut(rest, 4); !ok {
			return errRecord
		}
		r.Header.Add(name, value)
	}
	r.Status = status
	r.Body = exchange.Body{Bytes: rest}
	return nil
}

// cut takes a piece with its length, of size bytes, in front.
func cut(b []byte, size int) (piece, rest []byte, ok bool) {
	if len(b) < size {
		return nil, nil, false
	}
	n := uint64(binary.LittleEndian.Uint16(b))
	if size == 4 {
		n = uint64(binary.LittleEndian.Uint32(b))
	}
	b = b[size:]
	if uint64(len(b)) < n {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}
