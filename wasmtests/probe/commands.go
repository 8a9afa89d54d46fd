//go:build wasip1

package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/porchedge/porch/abi"
)

// commands are what a script can do. Each returns its result.
var commands = map[string]func(words []string) string{
	// get FIELD NAME SIZE, list FIELD NAME SIZE
	"get":  func(w []string) string { return fill("get", int32(number(w[0])), w[1], int(number(w[2]))) },
	"list": func(w []string) string { return fill("list", int32(number(w[0])), w[1], int(number(w[2]))) },
	// set FIELD NAME VALUE, add FIELD NAME VALUE, remove FIELD NAME
	"set":    func(w []string) string { return result(call("set", int32(number(w[0])), w[1], w[2])) },
	"add":    func(w []string) string { return result(call("add", int32(number(w[0])), w[1], w[2])) },
	"remove": func(w []string) string { return result(call("remove", int32(number(w[0])), w[1])) },
	// respond STATUS
	"respond": func(w []string) string { return result(call("respond", int32(number(w[0])))) },
	// policy KIND NAME SPEC
	"policy": func(w []string) string { return result(call("policy", int32(number(w[0])), w[1], w[2])) },
	// reject POINTER REASON
	"reject": func(w []string) string { return result(call("reject", w[0], w[1])) },
	// need FEATURES HEADER CAP
	"need": func(w []string) string { return result(call("need", int32(number(w[0])), w[1], int32(number(w[2])))) },
	// count CHARGE…, each POLICY|KEY|COST|LIMIT
	"count": count,
	// reserve POLICY KEY
	"reserve": func(w []string) string { return result(call("reserve", int32(number(w[0])), w[1])) },
	// begin POLICY KEY LETTER: the digest is that letter, 32 times
	"begin": func(w []string) string {
		digest := bytes.Repeat([]byte(w[2]), abi.DigestSize)
		return result(call("begin", int32(number(w[0])), w[1], digest))
	},
	// digest PARTS
	"digest": func(w []string) string {
		out := make([]byte, abi.DigestSize)
		n := call("digest", int32(number(w[0])), out)
		return result(n) + ":" + hexadecimal(out)
	},
	// clock KIND
	"clock": func(w []string) string { return result(call("clock", int32(number(w[0])))) },
	// log LEVEL TEXT
	"log": func(w []string) string { return result(call("log", int32(number(w[0])), w[1])) },
	// verifier AT SPEC
	"verifier": func(w []string) string { return result(call("verifier", w[0], w[1])) },
	// verify VERIFIER TOKEN SIZE
	"verify": func(w []string) string { return fill("verify", int32(number(w[0])), w[1], int(number(w[2]))) },
	// raw FUNCTION NUMBER…
	"raw": func(w []string) string {
		var n []uint32
		for _, word := range w[1:] {
			n = append(n, uint32(number(word)))
		}
		return result(raw(w[0], n))
	},
	// out TEXT, err TEXT
	"out": func(w []string) string { os.Stdout.WriteString(w[0] + "\n"); return "0" },
	"err": func(w []string) string { os.Stderr.WriteString(w[0] + "\n"); return "0" },
	// system: arguments, environment, files that the guest is given
	"system": func([]string) string {
		_, err := os.ReadDir("/")
		return strconv.Itoa(len(os.Args)) + ":" + strconv.Itoa(len(os.Environ())) + "/" + strconv.FormatBool(err == nil)
	},
	// time: the wall clock of WASI; random: eight of its random bytes
	"time": func([]string) string { return result(time.Now().UnixMilli()) },
	"random": func([]string) string {
		b := make([]byte, 8)
		return result(int64(wasiRandom(address(b), uint32(len(b))))) + ":" + hexadecimal(b)
	},
	// sleep MILLISECONDS
	"sleep": func(w []string) string { time.Sleep(time.Duration(number(w[0])) * time.Millisecond); return "0" },
	"loop": func([]string) string {
		for {
			spins++
		}
	},
	"trap": func([]string) string { var p *int; return strconv.Itoa(*p) },
	// exit CODE
	"exit": func(w []string) string { os.Exit(int(number(w[0]))); return "" },
	// configured: the results of porch_configure in this instance; recall: those of its former call
	"configured": func([]string) string { return "0:" + encode(strings.Join(configured, ",")) },
	"recall":     func([]string) string { return "0:" + encode(strings.Join(before, ",")) },
}

var spins int

func result(n int64) string { return strconv.FormatInt(n, 10) }

// times N COMMAND WORD…: the result of the last one. It refers to the commands, so it is added here.
func init() {
	commands["times"] = func(w []string) (last string) {
		for range number(w[0]) {
			last = commands[w[1]](w[2:])
		}
		return last
	}
}

func count(words []string) string {
	charges := make([]byte, len(words)*abi.ChargeSize)
	verdicts := bytes.Repeat([]byte{untouched}, len(words)*abi.VerdictSize)
	for i, word := range words {
		part := strings.Split(word, "|")
		key := []byte(decode(part[1]))
		abi.Charge{
			Policy: uint32(number(part[0])), KeyAddr: address(key), KeyLen: uint32(len(key)),
			Cost: number(part[2]), Limit: number(part[3]),
		}.Put(charges[i*abi.ChargeSize:])
		keys = append(keys, key)
	}
	n := call("count", charges, int32(len(words)), verdicts)
	keys = nil
	if verdicts[0] == untouched {
		return result(n)
	}
	var told []string
	for ; len(verdicts) > 0; verdicts = verdicts[abi.VerdictSize:] {
		v := abi.GetVerdict(verdicts)
		one := strconv.FormatBool(v.Allowed)
		for _, n := range []int64{v.Used, v.Limit, v.Remaining, v.ResetAfter, v.ResetAt, v.RetryAfter} {
			one += "/" + result(n)
		}
		told = append(told, one)
	}
	return result(n) + ":" + encode(strings.Join(told, " "))
}

// keys keeps what charges point to.
var keys [][]byte
