package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

var errDuration = errors.New("config: not a duration")

// parseDuration reads Go's notation with days in front: "1d", "1d12h", "250ms". A number without a unit
// is refused, since nothing tells what it means.
func parseDuration(text string) (time.Duration, error) {
	if strings.ContainsAny(text, "+-") || text == "0" {
		return 0, errDuration
	}
	var total time.Duration
	if days, rest, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, errDuration
		}
		total = time.Duration(n) * 24 * time.Hour
		if rest == "" {
			return total, nil
		}
		text = rest
	}
	rest, err := time.ParseDuration(text)
	if err != nil || total+rest < total {
		return 0, errDuration
	}
	return total + rest, nil
}

// brief is a duration without the parts that are zero: 1h, not 1h0m0s.
func brief(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// humanBytes is a size as the file would have it: 64KiB.
func humanBytes(n int64) string {
	return strings.NewReplacer(" ", "", ".0", "").Replace(humanize.IBytes(uint64(n)))
}

func oneOf(words []string) string { return strings.Join(words, ", ") }

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// checkName accepts what can stand in a metric label, a header and a property alike.
func checkName(name string) error {
	if len(name) > maxName || !nameForm.MatchString(name) {
		return fmt.Errorf("name %s is not allowed, allowed: letters, digits, '.', '_' and '-', at most %d bytes, a letter or digit first", quote(name), maxName)
	}
	return nil
}

// parseAny accepts any text but an empty one.
func parseAny(text string) (string, error) {
	if text == "" {
		return "", errors.New("empty text is not allowed here")
	}
	return text, nil
}
